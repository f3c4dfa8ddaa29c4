"""Endpoints and switches of `irn-held` that are wrong in one way each, for the hunter. Others stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from switch_nodes.netreduce.answers import AnswerMaps, MappedAnswer
from switch_nodes.netreduce.program import NetReduceProgram
from workloads.machine import Buffer
from workloads.rc.held_receiver import HeldReceiver
from workloads.rc.held_sender import HeldSender
from workloads.rc.held_window import HeldWindow
from workloads.wire import decode_packet, psn_add, replace_payload
from workloads.wire.held_map import HeldMap, decode_held_map

__all__ = ["HELD_ENDPOINT_MUTANTS", "HELD_SWITCH_MUTANTS"]


def _window(kind: type[HeldWindow]) -> Callable[[Any], None]:
    def change(worker: Any) -> None:
        for qp in worker._endpoint._order:
            if isinstance(qp.requester.recovery, HeldSender):
                qp.requester.recovery.window.__class__ = kind

    change.__name__, change.__doc__ = kind.__name__, kind.__doc__
    return change


@_window
class EveryClearBitIsALoss(HeldWindow):
    """Whether something that left later came does not count."""

    def told(self, first: int, count: int, bits: int, newest: int) -> None:
        super().told(first, count, bits, self.nxt - 1)


@_window
class BitsReadTheOtherWayRound(HeldWindow):
    """What need not be sent again is sent again."""

    def told(self, first: int, count: int, bits: int, newest: int) -> None:
        super().told(first, count, ~bits & ((1 << count) - 1), newest)


@_window
class MapsReadOneTooHigh(HeldWindow):
    """The bit of a packet is taken for that of the one behind it."""

    def told(self, first: int, count: int, bits: int, newest: int) -> None:
        super().told(first + 1, count, bits, newest)


@_window
class SelectiveAnswersForgotten(HeldWindow):
    """What came behind a gap still counts as lacking, whatever answered it."""

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        return super().heard(False, cumulative, selective)


@_window
class HeldTimersAtOnce(HeldWindow):
    """The oldest packet is sent again with every answer that shows a gap."""

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        new = super().heard(is_gap, cumulative, selective)
        if is_gap and self.una < self.nxt:
            self._lost |= 1
        return new


def _told(worker: Any, change: Callable[[HeldMap], HeldMap]) -> None:
    """Its receivers send other maps."""

    class Broken(HeldReceiver):
        def _answer(self, syndrome: int, packet: Any) -> None:
            super()._answer(syndrome, packet)
            held = decode_held_map(self.answers[-1].payload)
            if held is not None:
                self.answers[-1] = self.answers[-1]._replace(payload=change(held).encode())

    for qp in worker._endpoint._order:
        if type(qp.responder) is HeldReceiver:
            qp.responder.__class__ = Broken


def says_that_all_is_here(worker: Any) -> None:
    """A receiver that sets the bits of what lacks too."""
    _told(worker, lambda held: held._replace(bits=(1 << held.packets) - 1))


def names_the_one_before_as_newest(worker: Any) -> None:
    """A receiver that is wrong about what came last."""
    _told(worker, lambda held: held._replace(newest=psn_add(held.newest, -1)))


def _switch(change: Callable[[HeldMap], HeldMap]) -> type[AnswerMaps]:
    class Broken(AnswerMaps):
        def read(self, frame: Buffer) -> MappedAnswer | None:
            found = super().read(frame)
            if found is None:
                return None
            packet = decode_packet(found.frame)
            held = None if packet is None else decode_held_map(packet.payload)
            assert held is not None
            return found._replace(frame=replace_payload(found.frame, change(held).encode()))

    return Broken


class BitsTakenAway(NetReduceProgram):
    """A switch that clears bits of what the receiver has."""

    maps_class = _switch(lambda held: held._replace(bits=held.bits & held.bits - 1 if held.bits else 0))


class MapMoved(NetReduceProgram):
    """A switch that takes a map for one of other packets."""

    maps_class = _switch(lambda held: held._replace(first=psn_add(held.first, 1)))


HELD_SWITCH_MUTANTS: tuple[type[NetReduceProgram], ...] = (BitsTakenAway, MapMoved)
HELD_ENDPOINT_MUTANTS: tuple[Callable[[Any], None], ...] = (
    EveryClearBitIsALoss,
    BitsReadTheOtherWayRound,
    MapsReadOneTooHigh,
    SelectiveAnswersForgotten,
    HeldTimersAtOnce,
    says_that_all_is_here,
    names_the_one_before_as_newest,
)
