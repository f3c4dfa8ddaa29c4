"""Every contribution entered a sum exactly once."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.checkers.context import CheckContext
from testbed.checkers.messages import MessageLayout, ring_layout
from testbed.history import Record
from testbed.plan.rings import PlannedRing
from testbed.verdict import CheckResult, Verdict

__all__ = ["exactly_once"]

_SHOWN = 8


def exactly_once(context: CheckContext) -> CheckResult:
    """By what the switch tells: per message and rank, the packets that entered sums; each message once in the life of a
    switch, none missing."""
    switches = {switch.name for switch in context.plan.switches}
    summed = [ring for ring in context.rings if ring.collective.kind == "netreduce"]
    rings = {ring.ring_id: _Ring(ring, ring_layout(context, ring), len(summed) > 1) for ring in summed}
    seen: dict[tuple[int, int], int] = {}
    wrong = []
    for record in context.history:
        if record["event"] == "NodeExited" and record["node"] in switches:
            seen.clear()  # a switch that starts anew remembers nothing: what is sent again is summed again
        if record["event"] != "MessageAggregated":
            continue
        ring_id, message = record["ring_id"], record["message"]
        seen[ring_id, message] = seen.get((ring_id, message), 0) + 1
        ring = rings.get(ring_id)
        if ring is None:
            wrong.append(f"message {message} of ring {ring_id} was aggregated, the job has no such ring")
            continue
        if seen[ring_id, message] == 2:
            wrong.append(f"{ring.name(message)} was aggregated twice")
        wrong += ring.judge(record)
    restarted = context.restarted_switches
    missing = []
    for ring in rings.values():
        lacking = [message for message in range(ring.layout.total) if message not in ring.aggregated]
        missing += [ring.name(message) for message in lacking]
        if lacking and not restarted:
            received = ring.received(context)
            wrong += [f"{ring.name(m)} reached a worker and was never aggregated" for m in lacking if m in received]
    if wrong:
        detail = f"{len(wrong)} violation{'s' if len(wrong) > 1 else ''}; first: {wrong[0]}"
        return CheckResult("exactly_once", Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
    total = sum(ring.layout.total for ring in rings.values())
    if missing:
        detail = f"the switch told nothing of {len(missing)} of {total} messages; first: {missing[0]}"
        if restarted:
            detail += (
                f"; {', '.join(restarted)} started anew, and a message that was summed in two lives is told by none"
            )
        verdict = Verdict.FAIL if context.all_finished and not restarted else Verdict.UNKNOWN
        return CheckResult("exactly_once", verdict, detail, tuple(missing[:_SHOWN]))
    size = len(summed[0].members)
    among = f" on {len(rings)} rings" if len(rings) > 1 else ""
    detail = f"{total} messages of {size} ranks{among}: every packet entered its sum once"
    return CheckResult("exactly_once", Verdict.PASS, detail)


class _Ring:
    """What the switch told of one ring."""

    def __init__(self, ring: PlannedRing, layout: MessageLayout, among_others: bool) -> None:
        self._ring, self.layout, self._among_others = ring, layout, among_others
        self.aggregated: set[int] = set()

    def name(self, message: int) -> str:
        """For a person."""
        name = self.layout.name(message)
        return f"{name} of ring {self._ring.ring_id}" if self._among_others else name

    def judge(self, record: Record) -> Iterator[str]:
        """What is wrong with an aggregation."""
        layout, names = self.layout, self._ring.names
        message, packets, size = record["message"], record["packets"], len(names)
        self.aggregated.add(message)
        contributions, name = list(record["contributions"]), self.name(message)
        if message >= layout.total:
            yield f"message {message} was aggregated, the job has only {layout.total} messages"
        elif packets != layout.packets(message):
            yield f"{name} was aggregated with {packets} packets, it has {layout.packets(message)}"
        if len(contributions) != size:
            yield f"{name} counts {len(contributions)} ranks, the job has {size}"
        for rank, count in enumerate(contributions[:size]):
            if count != packets:
                yield f"{name}: {count} packets of rank {rank} ({names[rank]}) entered its sums, not {packets}"

    def received(self, context: CheckContext) -> set[int]:
        """Messages that reached a worker."""
        phase, names = self._ring.phase, self._ring.names
        told = context.events("MessageReceived")
        return {r["message"] for r in told if r.get("phase", "") == phase and (not phase or r["node"] in names)}
