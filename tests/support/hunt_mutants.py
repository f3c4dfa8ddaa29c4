"""Planted bugs for the hunter: what runs instead of our switch program or worker, by name.

Beside the broken programs of `netreduce_mutants` here are more, and workers that are wrong in one way each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from switch_nodes.netreduce.connections import RingConnections
from switch_nodes.netreduce.program import NetReduceProgram, RingContribution
from switch_nodes.netreduce.slot_actions import SlotActions, SlotHandlers
from switch_nodes.netreduce.tables import RingSlotAction
from testbed.hunt.judge import Machines
from testbed.worlds.simulated import make_worker
from tests.support import netreduce_mutants as programs
from tests.support.endpoint_mutants import ENDPOINT_MUTANTS, ENDPOINT_NOT_HUNTED
from tests.support.fabric_more_mutants import MORE_FABRIC_MUTANTS
from tests.support.fabric_mutants import FABRIC_MUTANTS, FABRIC_NOT_HUNTED
from tests.support.held_mutants import HELD_ENDPOINT_MUTANTS, HELD_SWITCH_MUTANTS
from tests.support.irn_mutants import IRN_ENDPOINT_MUTANTS, IRN_NOT_HUNTED, IRN_SWITCH_MUTANTS
from tests.support.netreduce_more_mutants import MORE_MUTANTS, MORE_NOT_HUNTED
from tests.support.order_mutants import ORDER_MUTANTS, RACK_MUTANTS
from tests.support.slot_mutants import program_with
from workloads.config import WorkerConfig
from workloads.rc.go_back_n import GoBackN
from workloads.rc.responder import Responder
from workloads.wire import PSN_MASK, psn_diff
from workloads.worker import WorkerMachine

__all__ = ["FABRIC_PLANTED", "HELD_PLANTED", "IRN_PLANTED", "NOT_HUNTED", "NOT_UNDER_IRN", "ORDER_PLANTED", "PLANTED"]

NOT_HUNTED = {
    programs.CongestionForgotten: "no checker of a run asks for marks of congestion",
    programs.PlainMessageIgnored: "hosts of ours send nothing without INA header on a ring connection",
    programs.InnocentsReleasedEarly: "is what `release: asap` does: sums stay right, only more is sent again",
    programs.HeldResultReplayed: "sends results out of turn, as `release: asap` does",
    programs.NoInference: "costs time: what has no FIRST is sent again from its FIRST on",
    programs.StaleForwardedUnproven: "a host of ours keeps its QPNs, so what is stale is always proven",
    programs.NothingReleasedEarly: "costs time, not sums: the timeout of the loser ends what a NAK would have ended "
    "sooner",
    programs.NewHoleForgotten: "as the one before",
    programs.NothingBehindAHole: "costs time, not sums: a sender comes back to what was not taken",
    programs.ShortConnectionTable: "equivalent for endpoints: a sender has the ACK of message m - 2N before it posts "
    "m, so that "
    "nothing but a late copy names it; that one is dropped then instead of passed on",
    programs.StaleDropped: "costs time: the receiver's next ACK covers what a raw duplicate would have made it say "
    "again",
}
"""broken programs that break no rule of a run, and why"""


class _NewestOnly(RingConnections):
    def match(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        found = super().match(rank, psn)
        return found if found is not None and found[0] == int(self.ring.newest[rank]) else None


class NewestMessageOnly(NetReduceProgram):
    """The connection table keeps only the newest message."""

    table_class = _NewestOnly


class _Unwrapped(RingConnections):
    def match(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        found = super().match(rank, psn)
        if found is None:
            return None
        first = int(self.ring.entry_psn[rank, found[0] % self.entries])
        return found if 0 <= psn - first < found[2] else None


class PsnWithoutWrap(NetReduceProgram):
    """The switch subtracts PSNs as if they never wrapped."""

    table_class = _Unwrapped


@program_with
class ClearedSlotReplayed(SlotActions):
    """A duplicate of a message that is gone is answered with whatever its slot holds now."""

    def forward_raw(self, c: RingContribution, slot: int) -> None:
        size = int(c.ring.length[slot]) or len(c.elements)
        value = c.ring.value[slot, :size].tobytes()
        self.switch.emit(c.ring.egress[c.rank], self.build_result(bytes(c.header), value, False))

    def handlers(self) -> SlotHandlers:
        return super().handlers() | {RingSlotAction.DROP_STALE: self.forward_raw}


@program_with
class LostContribution(SlotActions):
    """The last rank's copy of a packet that had to be sent again does not enter the sum."""

    def operands(self, ring: Any, slot: int) -> tuple[Any, Any]:
        ranks, payloads = super().operands(ring, slot)
        assert isinstance(self.switch, NetReduceProgram)
        if self.switch.counters["duplicate"] == 1:
            return ranks[:-1], payloads[:-1]
        return ranks, payloads


class BrokenWorker(WorkerMachine):
    """Of a class of its own, so that no compiled loop takes its place."""


def _worker(change: Callable[[WorkerMachine], None]) -> Machines:
    def employ(config: WorkerConfig, start_ns: int) -> WorkerMachine:
        worker = make_worker(config, start_ns)
        worker.__class__ = BrokenWorker
        change(worker)
        return worker

    return Machines(employ=employ)


def _responders(worker: Any) -> list[Any]:
    worker._endpoint._fast = None  # the reference alone is changed
    return [qp.responder for qp in worker._endpoint._order if isinstance(qp.responder, Responder)]


def _senders(worker: Any) -> list[Any]:
    """Those with go-back-N."""
    worker._endpoint._fast = None
    recoveries = [qp.requester.recovery for qp in worker._endpoint._order]
    return [recovery for recovery in recoveries if isinstance(recovery, GoBackN)]


def credit_on_post(worker: Any) -> None:
    """Credit comes back when a message was handed to the NIC, not when its result is here and it is acknowledged."""
    protocol = worker._collective
    protocol._credit = lambda received, acked: protocol._posted


def credit_on_ack(worker: Any) -> None:
    """Credit comes back with the ACK of a message alone, whatever was agreed."""
    worker._collective._credit = lambda received, acked: acked


def no_hello(worker: Any) -> None:
    """Nobody waits for the result of the hello."""
    worker._collective._hellos = 0


def requester_without_wrap(worker: Any) -> None:
    """A sender takes an ACK whose PSN is a smaller number for an old one."""
    for requester in _senders(worker):
        original = requester.hear

        def hear(psn: int, syndrome: int, now: int, requester: Any = requester, original: Any = original) -> None:
            if psn >= requester.una & PSN_MASK:
                original(psn, syndrome, now)

        requester.hear = hear


def gaps_accepted(worker: Any) -> None:
    """A receiver takes a packet that is one ahead for the expected one."""
    for responder in _responders(worker):
        original = responder.on_request

        def on_request(packet: Any, responder: Any = responder, original: Any = original) -> None:
            if psn_diff(packet.psn, responder.expected) == 1:
                packet = packet._replace(psn=responder.expected)
            original(packet)

        responder.on_request = on_request


def no_timer(worker: Any) -> None:
    """A sender does not start its timer again after an ACK of some packets."""
    for requester in _senders(worker):
        original = requester._step

        def step(event: Any, now: int, requester: Any = requester, original: Any = original, **more: Any) -> None:
            original(event, now, **more)
            if event.name == "ACK_SOME":
                requester.deadline = None

        requester._step = step


def stale_receive(worker: Any) -> None:
    """Results are taken from the slot of the message before."""
    slots = worker._collective._slots
    original = slots.view
    slots.view = lambda message: original(message - 1 if message > 2 else message)


PLANTED: dict[str, Machines] = {
    **{
        program.__name__: Machines(create=program)
        for program in (
            *(program for program in programs.MUTANTS if program not in NOT_HUNTED),
            NewestMessageOnly,
            PsnWithoutWrap,
            ClearedSlotReplayed,
            LostContribution,
            *(program for program in MORE_MUTANTS if program not in MORE_NOT_HUNTED),
        )
    },
    **{
        change.__name__: _worker(change)
        for change in (
            credit_on_post, credit_on_ack, no_hello, requester_without_wrap, gaps_accepted, no_timer, stale_receive,
            *(change for change in ENDPOINT_MUTANTS if change not in ENDPOINT_NOT_HUNTED),
        )
    },
}  # fmt: skip
"""planted bug -> the Machines that hold it"""

_NAMED = "never reached: the RETH of a packet names its message and place, and nobody looks for its PSN in the table"
_NOT_INFERRED = "never reached: the RETH of a packet names its message, which is not inferred"
_GO_BACK_N = "never reached: it changes a half of go-back-N's endpoint"

NOT_UNDER_IRN: dict[str, str] = {
    "MiddlesToPreviousMessage": _NOT_INFERRED,
    "InferenceWithoutAnnouncement": _NOT_INFERRED,
    "NewestMessageOnly": _NAMED,
    "PsnWithoutWrap": _NAMED,
    **{
        change.__name__: _GO_BACK_N
        for change in (
            requester_without_wrap, gaps_accepted, no_timer,
            *(change for change in ENDPOINT_MUTANTS if change not in ENDPOINT_NOT_HUNTED),
        )
    },
    "KeepsReleased": "costs time: the result of a slot that is used again stays until the sender's timer asks for it, "
    "and is taken in whatever order it comes. Retries end only where losses use them up too, and drawn trouble ends "
    "sooner",
}  # fmt: skip
"""of `PLANTED`, those that break no rule where all hosts use IRN, and why"""

IRN_PLANTED: dict[str, Machines] = {
    **{program.__name__: Machines(create=program) for program in IRN_SWITCH_MUTANTS},
    **{change.__name__: _worker(change) for change in IRN_ENDPOINT_MUTANTS if change not in IRN_NOT_HUNTED},
}
"""those of IRN, whose schedules are a part of all"""

ORDER_PLANTED: dict[str, Machines] = {
    **{program.__name__: Machines(create=program) for program in ORDER_MUTANTS},
    **{change.__name__: _worker(change) for change in RACK_MUTANTS},
}
"""those that take order of arrival for order of sending, for hunts over fabrics, a part of which sprays"""

HELD_PLANTED: dict[str, Machines] = {
    **{program.__name__: Machines(create=program) for program in HELD_SWITCH_MUTANTS},
    **{change.__name__: _worker(change) for change in HELD_ENDPOINT_MUTANTS},
}
"""those of `irn-held`, for hunts where all hosts have it"""

FABRIC_PLANTED: dict[str, Machines] = {
    program.__name__: Machines(create=program)
    for program in (*FABRIC_MUTANTS, *MORE_FABRIC_MUTANTS)
    if program not in FABRIC_NOT_HUNTED
}
"""those of leaves and spines, for hunts over fabrics"""
