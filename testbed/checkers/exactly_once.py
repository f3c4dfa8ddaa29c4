"""Every contribution entered a sum exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from switch_nodes.config import SpineLinks
from switch_nodes.events import MessageAggregated
from testbed.checkers.context import CheckContext
from testbed.checkers.messages import ring_layout
from testbed.history import of_kind, of_kinds
from testbed.history.events import NodeExited
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan.rings import PlannedRing
from testbed.terminal.words import violations
from workloads.events import MessageReceived

__all__ = ["exactly_once"]

_SHOWN = 8


def exactly_once(context: CheckContext) -> CheckResult:
    """By what the switches tell: per message and rank, the packets that entered sums; each message once in the life of
    a switch, none missing. Over several switches every leaf sums each message, and one spine does. A job that fell back
    to a ring is judged as far as it came before."""
    switches = {switch.name for switch in context.plan.switches}
    summed = [ring for ring in context.rings if ring.carries.is_summed]
    rings = {ring.ring_id: _Ring(context, ring, len(summed) > 1) for ring in summed}
    seen: Counter[tuple[str, int, int]] = Counter()
    wrong: list[str] = []
    for record in of_kinds(context.first_life, NodeExited, MessageAggregated):
        node, event = record.node, record.event
        if isinstance(event, NodeExited) and node in switches:
            # A switch that starts anew remembers nothing: what is sent again is summed again.
            seen = Counter({key: count for key, count in seen.items() if key[0] != node})
        if not isinstance(event, MessageAggregated):
            continue
        ring_id, message = event.ring_id, event.message
        ring = rings.get(ring_id)
        if ring is None:
            wrong.append(f"message {message} of ring {ring_id} was aggregated, the job has no such ring")
            continue
        seen[node, ring_id, message] += 1
        if seen[node, ring_id, message] == 2:
            wrong.append(f"{ring.name(message)} was aggregated twice{ring.at(node)}")
        wrong += ring.judge(node, event)
    restarted = context.restarted_switches
    missing = []
    for ring in rings.values():
        wrong += ring.several_spines()
        lacking = ring.lacking()
        missing += [ring.name(message) for message in lacking]
        if lacking and not restarted:
            received = ring.received(context)
            wrong += [f"{ring.name(m)} reached a worker and was never aggregated" for m in lacking if m in received]
    if wrong:
        detail = violations(wrong)
        return CheckResult("exactly_once", Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
    total, size = sum(ring.layout.total for ring in rings.values()), len(summed[0].members)
    if missing and context.fell_back:
        detail = (
            f"{total - len(missing)} messages of {size} ranks, before the job fell back: every packet entered its sum "
            "once"
        )
        return CheckResult("exactly_once", Verdict.PASS, detail)
    spines = sorted({spine for ring in rings.values() for spine in ring.spines})
    if missing:
        who = "a switch" if spines else "the switch"
        detail = f"{who} reported nothing about {len(missing)} of {total} messages; first: {missing[0]}"
        if restarted:
            detail += f"; {', '.join(restarted)} restarted: messages that were summed in part before are not reported"
        verdict = Verdict.FAIL if context.all_finished and not restarted else Verdict.UNKNOWN
        return CheckResult("exactly_once", verdict, detail, tuple(missing[:_SHOWN]))
    among = f" on {len(rings)} rings" if len(rings) > 1 else ""
    detail = f"{total} messages of {size} ranks{among}: every packet entered its sum once"
    if spines:
        detail += f" in its rack, and every rack's once in a spine ({', '.join(spines)})"
    return CheckResult("exactly_once", Verdict.PASS, detail)


class _Ring:
    """The reports of the switches about one ring."""

    def __init__(self, context: CheckContext, ring: PlannedRing, among_others: bool) -> None:
        self._ring, self.layout, self._among_others = ring, ring_layout(context, ring), among_others
        self._configs = {
            switch.name: config for switch in context.plan.switches for config in switch.rings
            if config.ring_id == ring.ring_id
        }  # fmt: skip
        self.spines = {name for name, config in self._configs.items() if isinstance(config.links, SpineLinks)}
        self._tellers: dict[int, set[str]] = {}
        """by message: the switches that summed it"""

    def name(self, message: int) -> str:
        """For a person."""
        name = self.layout.name(message)
        return f"{name} of ring {self._ring.ring_id}" if self._among_others else name

    def at(self, node: str) -> str:
        """Where, if there are several switches."""
        return f" by {node}" if len(self._configs) > 1 else ""

    def judge(self, node: str, event: MessageAggregated) -> Iterator[str]:
        """What is wrong with an aggregation."""
        layout, names = self.layout, self._ring.names
        message, packets = event.message, event.packets
        self._tellers.setdefault(message, set()).add(node)
        contributions, name = list(event.contributions), self.name(message)
        config = self._configs.get(node)
        ranks = [] if config is None else [member.rank for member in config.members]
        if message >= layout.total:
            yield f"message {message} was aggregated, the job has only {layout.total} messages"
        elif packets != layout.packets(message):
            yield f"{name} was aggregated with {packets} packets, it has {layout.packets(message)}"
        if len(contributions) != len(ranks):
            whose = f"{node} has" if len(self._configs) > 1 else "the job has"
            yield f"{name} counts {len(contributions)} ranks, {whose} {len(ranks)}"
        for rank, count in zip(ranks, contributions, strict=False):
            if count != packets:
                where = self.at(node)
                yield f"{name}: {count} packets of rank {rank} ({names[rank]}) entered its sums{where}, not {packets}"

    def several_spines(self) -> Iterator[str]:
        for message, nodes in self._tellers.items():
            if len(nodes & self.spines) > 1:
                yield f"{self.name(message)} was summed by several spines: {', '.join(sorted(nodes & self.spines))}"

    def lacking(self) -> list[int]:
        """Messages that a switch which has to sum them did not."""
        rest = self._configs.keys() - self.spines
        tellers = [self._tellers.get(message, set()) for message in range(self.layout.total)]
        return [m for m, nodes in enumerate(tellers) if not nodes >= rest or (self.spines and not nodes & self.spines)]

    def received(self, context: CheckContext) -> set[int]:
        """Messages that reached a worker."""
        phase, names = self._ring.phase, self._ring.names
        received = of_kind(context.first_life, MessageReceived)
        return {r.event.message for r in received if r.event.phase == phase and (not phase or r.node in names)}
