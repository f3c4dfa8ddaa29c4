"""No slot serves two jobs."""

from __future__ import annotations

from switch_nodes.events import MessageAggregated, SlotsAtEnd
from testbed.checkers.context import CheckContext
from testbed.history.verdict import CheckResult, Verdict

__all__ = ["slots_private"]


def slots_private(context: CheckContext) -> CheckResult:
    """Each installed ring has exactly its own 2 N L slots, never uses more, and sums only its own ranks' packets."""
    rings = {(switch.name, ring.ring_id): ring for switch in context.plan.switches for ring in switch.rings}
    wrong, seen = [], set()
    for record in context.events(SlotsAtEnd):
        key = record.node, record.event.ring_id
        if key not in rings:
            wrong.append(f"{key[0]} has slots of ring {key[1]}, which is not installed there")
            continue
        ring = rings[key]
        if key in seen:
            wrong.append(f"{key[0]} reports the slots of ring {key[1]} twice: it has two arrays of them")
        seen.add(key)
        own = 2 * ring.window_messages * ring.message_packets
        if record.event.slots != own:
            wrong.append(f"ring {key[1]} on {key[0]} has {record.event.slots} slots, 2 N L is {own}")
        if record.event.peak_occupied > own:
            wrong.append(f"ring {key[1]} on {key[0]} used {record.event.peak_occupied} slots, its own are {own}")
    for summed in context.events(MessageAggregated):
        event = summed.event
        key = summed.node, event.ring_id
        if key not in rings:
            wrong.append(f"{key[0]} aggregated message {event.message} of ring {key[1]}, not installed there")
        elif len(event.contributions) != len(rings[key].members):
            wrong.append(
                f"{key[0]} summed {len(event.contributions)} ranks into message {event.message} of ring {key[1]}, "
                f"which has {len(rings[key].members)}"
            )
    if wrong:
        return CheckResult("slots_private", Verdict.FAIL, wrong[0], tuple(wrong[:8]))
    if context.fell_back:  # an accelerator that died tells nothing any more, and the job went on without it
        gone = {record.node for record in context.events(SlotsAtEnd)}
        rings = {key: ring for key, ring in rings.items() if key[0] in gone}
    if set(rings) - seen:
        missing = ", ".join(f"ring {ring} on {switch}" for switch, ring in sorted(set(rings) - seen))
        return CheckResult("slots_private", Verdict.UNKNOWN, f"the slots of {missing} are not reported")
    peaks = ", ".join(f"ring {r.event.ring_id} on {r.node}: {r.event.peak_occupied} of {r.event.slots}"
                      for r in context.events(SlotsAtEnd))  # fmt: skip
    return CheckResult("slots_private", Verdict.PASS, f"every ring kept to its own slots; most in use: {peaks}")
