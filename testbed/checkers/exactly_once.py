"""Every contribution entered a sum exactly once."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.checkers.messages import message_layout
from testbed.verdict import CheckResult, Verdict

__all__ = ["exactly_once"]

_SHOWN = 8


def exactly_once(context: CheckContext) -> CheckResult:
    """By what the switch tells: per message and rank, the packets that entered sums; each message once in the life of a
    switch, none missing. A job that fell back to a ring is judged as far as it came before."""
    layout, size = message_layout(context), len(context.workers)
    switches = {switch.name for switch in context.plan.switches}
    seen: dict[tuple[int, int], int] = {}
    aggregated: set[int] = set()
    wrong = []
    for record in context.history:
        if record["event"] == "NodeExited" and record["node"] in switches:
            seen.clear()  # a switch that starts anew remembers nothing: what is sent again is summed again
        if record["event"] != "MessageAggregated":
            continue
        ring_id, message, packets = record["ring_id"], record["message"], record["packets"]
        aggregated.add(message)
        seen[ring_id, message] = seen.get((ring_id, message), 0) + 1
        contributions = list(record["contributions"])
        name = layout.name(message)
        if seen[ring_id, message] == 2:
            wrong.append(f"{name} was aggregated twice")
        if message >= layout.total:
            wrong.append(f"message {message} was aggregated, the job has only {layout.total} messages")
        elif packets != layout.packets(message):
            wrong.append(f"{name} was aggregated with {packets} packets, it has {layout.packets(message)}")
        if len(contributions) != size:
            wrong.append(f"{name} counts {len(contributions)} ranks, the job has {size}")
        for rank, count in enumerate(contributions[:size]):
            if count != packets:
                worker = context.workers[rank]
                wrong.append(f"{name}: {count} packets of rank {rank} ({worker}) entered its sums, not {packets}")
    received = {record["message"] for record in context.first_life if record["event"] == "MessageReceived"}
    missing = [message for message in range(layout.total) if message not in aggregated]
    restarted = context.restarted_switches
    if not restarted:
        wrong += [f"{layout.name(m)} reached a worker and was never aggregated" for m in missing if m in received]
    if wrong:
        detail = f"{len(wrong)} violation{'s' if len(wrong) > 1 else ''}; first: {wrong[0]}"
        return CheckResult("exactly_once", Verdict.FAIL, detail, tuple(wrong[:_SHOWN]))
    if missing and context.fell_back:
        detail = (
            f"{len(aggregated)} messages of {size} ranks, before the job fell back: every packet entered its sum once"
        )
        return CheckResult("exactly_once", Verdict.PASS, detail)
    if missing:
        detail = (
            f"the switch told nothing of {len(missing)} of {layout.total} messages; first: {layout.name(missing[0])}"
        )
        if restarted:
            detail += (
                f"; {', '.join(restarted)} started anew, and a message that was summed in two lives is told by none"
            )
        verdict = Verdict.FAIL if context.all_finished and not restarted else Verdict.UNKNOWN
        return CheckResult("exactly_once", verdict, detail, tuple(layout.name(m) for m in missing[:_SHOWN]))
    detail = f"{layout.total} messages of {size} ranks: every packet entered its sum once"
    return CheckResult("exactly_once", Verdict.PASS, detail)
