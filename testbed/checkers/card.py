"""Facts from a card that keeps no trace: counters of one moment and its active registers (event `CardCounted`). They
say how much entered sums, not into which."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.checkers.messages import ring_layout
from testbed.faults.model import Forge
from testbed.history import Record
from testbed.history.events import CardCounted
from testbed.history.verdict import CheckResult, Verdict

__all__ = ["KEPT_OUT", "contributions", "counted_left", "counted_once", "counted_slots", "expected_contributions"]

KEPT_OUT = (
    "wrong_port", "icrc", "malformed", "inconsistent_first", "nofirst", "duplicate", "replayed", "stale",
    "stale_forwarded", "overrun", "mismatch", "length", "ahead", "unasked", "unforeseen",
)  # fmt: skip
"""counters of data on a ring's edge that enters no sum; what is left of `data_in` did, or was no INA data"""


def contributions(counters: dict[str, int]) -> int:
    """Packets that entered sums."""
    return counters.get("data_in", 0) - sum(counters.get(name, 0) for name in KEPT_OUT)


def expected_contributions(context: CheckContext) -> int:
    """Packets of all ranks of the job."""
    layouts = [(ring, ring_layout(context, ring)) for ring in context.rings if ring.carries.is_summed]
    return sum(
        len(ring.members) * sum(layout.packets(message) for message in range(layout.total)) for ring, layout in layouts
    )


def _newest(context: CheckContext) -> Record[CardCounted]:
    return context.events(CardCounted)[-1]


def counted_once(context: CheckContext) -> CheckResult:
    """As many contributions entered sums as the job has packets: one that entered twice shows unless another is
    missing, and then the sums are wrong (`bit_exact`)."""
    counted = _newest(context)
    counters, node = counted.event.counters, counted.node
    found, expected = contributions(counters), expected_contributions(context)
    kept_out = ", ".join(f"{counters[name]:,} {name}" for name in KEPT_OUT if counters.get(name))
    evidence = (f"data_in {counters.get('data_in', 0):,}; kept out: {kept_out or 'none'}",)
    if found == expected:
        detail = (
            f"{found:,} contributions entered sums, as many as the ranks have packets (totals of the card's counters)"
        )
        return CheckResult("exactly_once", Verdict.PASS, detail, evidence)
    detail = f"{node} counted {found:,} contributions to sums, the ranks have {expected:,} packets"
    plain = any(isinstance(fault, Forge) for fault in context.plan.scenario.faults)
    wrong = found > expected or context.all_finished
    return CheckResult("exactly_once", Verdict.FAIL if wrong and not plain else Verdict.UNKNOWN, detail, evidence)


def counted_slots(context: CheckContext) -> CheckResult:
    """What the card's registers say is active: the rings of the plan with their own slots, and no other."""
    counted = _newest(context)
    active = {tuple(ring) for ring in counted.event.rings}
    planned = {
        (ring.ring_id, len(ring.members), ring.message_packets, ring.window_messages)
        for switch in context.plan.switches
        if switch.name == counted.node
        for ring in switch.rings
    }
    if active != planned:
        detail = f"the registers of {counted.node} say rings {sorted(active)}, installed were {sorted(planned)}"
        return CheckResult("slots_private", Verdict.FAIL, detail)
    if len(planned) != 1:
        detail = f"{counted.node} has {len(planned)} rings, and does not tell who used which slot"
        return CheckResult("slots_private", Verdict.UNKNOWN, detail)
    ((ring_id, _, packets, window),) = planned
    detail = (
        f"the card has ring {ring_id} alone, with its {2 * window * packets} slots: there is no other to share with"
    )
    return CheckResult("slots_private", Verdict.PASS, detail)


def counted_left(context: CheckContext) -> CheckResult:
    """For `liveness`, when every worker has finished: each has all results, so every slot was completed; a contribution
    beyond those that the results take is left in one."""
    found, expected = contributions(_newest(context).event.counters), expected_contributions(context)
    if found != expected:
        detail = (
            f"every worker finished, but by the card's counters {found:,} contributions entered, {expected:,} have "
            "results"
        )
        return CheckResult("liveness", Verdict.UNKNOWN, detail)
    detail = f"all {len(context.workers)} workers finished; no slot holds a leftover, by totals of the card's counters"
    return CheckResult("liveness", Verdict.PASS, detail)
