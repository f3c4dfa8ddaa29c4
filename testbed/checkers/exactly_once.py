"""Every contribution entered a sum exactly once."""

from __future__ import annotations

from collections import Counter

from switch_nodes.config import SpineLinks
from testbed.checkers.context import CheckContext
from testbed.checkers.messages import message_layout
from testbed.verdict import CheckResult, Verdict

__all__ = ["exactly_once"]

_SHOWN = 8


def exactly_once(context: CheckContext) -> CheckResult:
    """By what the switches tell: per message and rank, the packets that entered sums; each message once in the life of a
    switch, none missing. Over several switches every leaf sums each message, and one spine does. A job that fell back to a
    ring is judged as far as it came before."""
    layout = message_layout(context)
    rings = {(switch.name, ring.ring_id): ring for switch in context.plan.switches for ring in switch.rings}
    switches = {switch.name for switch in context.plan.switches}
    seen: Counter[tuple[str, int, int]] = Counter()
    told: dict[int, set[str]] = {}
    wrong = []
    for record in context.history:
        if record["event"] == "NodeExited" and record["node"] in switches:
            # A switch that starts anew remembers nothing: what is sent again is summed again.
            seen = Counter({key: count for key, count in seen.items() if key[0] != record["node"]})
        if record["event"] != "MessageAggregated":
            continue
        node, ring_id, message, packets = record["node"], record["ring_id"], record["message"], record["packets"]
        ring = rings.get((node, ring_id))
        members = () if ring is None else ring.members
        told.setdefault(message, set()).add(node)
        seen[node, ring_id, message] += 1
        contributions = list(record["contributions"])
        name = layout.name(message)
        if seen[node, ring_id, message] == 2:
            wrong.append(f"{name} was aggregated twice{_at(context, node)}")
        if message >= layout.total:
            wrong.append(f"message {message} was aggregated, the job has only {layout.total} messages")
        elif packets != layout.packets(message):
            wrong.append(f"{name} was aggregated with {packets} packets, it has {layout.packets(message)}")
        if len(contributions) != len(members):
            wrong.append(f"{name} counts {len(contributions)} ranks{_at(context, node)}, the job has {len(members)}")
        for member, count in zip(members, contributions, strict=False):
            if count != packets:
                worker = context.workers[member.rank]
                wrong.append(
                    f"{name}: {count} packets of rank {member.rank} ({worker}) entered its sums, not {packets}"
                )
    spines = {name for (name, _), ring in rings.items() if isinstance(ring.links, SpineLinks)}
    rest = {name for name, _ in rings} - spines
    for message, nodes in told.items():
        if len(nodes & spines) > 1:
            wrong.append(f"{layout.name(message)} was summed by several spines: {', '.join(sorted(nodes & spines))}")

    def lacks(message: int) -> bool:
        nodes = told.get(message, set())
        return not nodes >= rest or bool(spines and not nodes & spines)

    received = {record["message"] for record in context.first_life if record["event"] == "MessageReceived"}
    missing = [message for message in range(layout.total) if lacks(message)]
    restarted = context.restarted_switches
    if not restarted:
        wrong += [f"{layout.name(m)} reached a worker and was never aggregated" for m in missing if m in received]
    if wrong:
        detail = f"{len(wrong)} violation{'s' if len(wrong) > 1 else ''}; first: {wrong[0]}"
        return CheckResult("exactly_once", Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
    if missing and context.fell_back:
        detail = (
            f"{layout.total - len(missing)} messages of {len(context.workers)} ranks, before the job fell back: every packet "
            "entered its sum once"
        )
        return CheckResult("exactly_once", Verdict.PASS, detail)
    who = "the switch" if len(rings) < 2 else "a switch"
    if missing:
        detail = f"{who} told nothing of {len(missing)} of {layout.total} messages; first: {layout.name(missing[0])}"
        if restarted:
            detail += (
                f"; {', '.join(restarted)} started anew, and a message that was summed in two lives is told by none"
            )
        verdict = Verdict.FAIL if context.all_finished and not restarted else Verdict.UNKNOWN
        return CheckResult("exactly_once", verdict, detail, tuple(layout.name(m) for m in missing[:_SHOWN]))
    detail = f"{layout.total} messages of {len(context.workers)} ranks: every packet entered its sum once"
    if spines:
        detail += f" in its rack, and every rack's once in a spine ({', '.join(sorted(spines))})"
    return CheckResult("exactly_once", Verdict.PASS, detail)


def _at(context: CheckContext, node: str) -> str:
    """Where, if there are several switches."""
    return f" by {node}" if len(context.plan.switches) > 1 else ""
