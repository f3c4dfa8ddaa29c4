"""IRN endpoints and switches that are wrong in one way each, for the hunter. Hosts with go-back-N stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from switch_nodes.netreduce.program import NetReduceProgram
from workloads.rc.irn_arrivals import Arrivals
from workloads.rc.irn_receiver import IrnReceiver
from workloads.rc.irn_sender import IrnSender
from workloads.rc.irn_window import SenderWindow
from workloads.wire import PSN_MASK, Sack, psn_add, psn_diff

__all__ = ["IRN_ENDPOINT_MUTANTS", "IRN_NOT_HUNTED", "IRN_SWITCH_MUTANTS"]


def _senders(change: Callable[[Any], None]) -> Callable[[Any], None]:
    def all_of(worker: Any) -> None:
        for qp in worker._endpoint._order:
            if isinstance(qp.requester.recovery, IrnSender):
                change(qp.requester.recovery)

    all_of.__name__, all_of.__doc__ = change.__name__, change.__doc__
    return all_of


def _receivers(change: Callable[[Any], None]) -> Callable[[Any], None]:
    def all_of(worker: Any) -> None:
        for qp in worker._endpoint._order:
            if isinstance(qp.responder, IrnReceiver):
                change(qp.responder)

    all_of.__name__, all_of.__doc__ = change.__name__, change.__doc__
    return all_of


def _window(kind: type[SenderWindow]) -> Callable[[Any], None]:
    def change(sender: Any) -> None:
        sender.window.__class__ = kind

    change.__name__, change.__doc__ = kind.__name__, kind.__doc__
    return _senders(change)


@_window
class BitmapShiftedByOne(SenderWindow):
    """What an answer says to have arrived is noted one place too low: the hole in front of it seems to be here, and the
    packet itself to be lacking."""

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        return super().heard(is_gap, cumulative, selective - 1 if is_gap and selective > cumulative + 1 else selective)


@_window
class SelectiveAnswersIgnored(SenderWindow):
    """What an answer says beside what is expected next is not noted, so that everything looks like a hole."""

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        new = super().heard(is_gap, cumulative, selective)
        self._arrived = self._arrived & 1 << max(0, self._arrived.bit_length() - 1)
        return new


@_window
class HolesAboveAllThatArrived(SenderWindow):
    """What lies above the highest packet that arrived counts as lost."""

    def _schedule_hole(self) -> None:
        start = max(self._again + 1, self.una) - self.una
        lacking = ~(self._arrived >> start)
        hole = start + (lacking & -lacking).bit_length() - 1
        self._is_due = hole < self.nxt - self.una
        if self._is_due:
            self._again = self.una + hole


@_window
class EverythingLostAtOneTimer(SenderWindow):
    """The first timer takes everything in flight for lost."""

    def _note_timer(self) -> bool:
        return True


@_window
class RecoveryLeftTooEarly(SenderWindow):
    """Any news ends a recovery; the next gap then begins one anew and sends again what was sent again."""

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        new = super().heard(is_gap, cumulative, selective)
        if new:
            self.recovering = False
        if is_gap and self.in_flight:  # as nothing is being recovered
            self.schedule_oldest()
        return new


@_window
class CapOfOneMore(SenderWindow):
    """One packet more than the cap may be in flight."""

    def upcoming(self, end: int) -> int | None:
        found = super().upcoming(end)
        return self.nxt if found is None and self.nxt < end and self.in_flight == self._cap else found


@_window
class CumulativeOneMore(SenderWindow):
    """What is expected next is taken for what came last."""

    def heard(self, is_gap: bool, cumulative: int, selective: int) -> bool:
        return super().heard(is_gap, min(cumulative + 1, self.nxt), selective)


@_senders
def rto_low_with_many_in_flight(sender: Any) -> None:
    sender._irn = replace(sender._irn, few_packets=1 << 20)


@_senders
def repeats_go_to_the_begin(sender: Any) -> None:
    """The RETH of a packet that is sent again is that of its message's first."""
    original = sender.next_packet

    def next_packet(now: int) -> Any:
        window, end = sender.window, sender.window.nxt
        packet = original(now)
        if packet is None or window.nxt != end:
            return packet
        message = sender._queue.holding(window.una + psn_diff(packet.psn, window.una & PSN_MASK))
        return packet._replace(extensions=message.reth + packet.extensions[16:])

    sender.next_packet = next_packet


@_senders
def psns_of_answers_do_not_wrap(sender: Any) -> None:
    """An answer names numbers, and the smaller one is the older one."""
    original = sender.on_answer

    def on_answer(packet: Any, now: int) -> None:
        cumulative, _ = packet.sack
        if cumulative < sender.window.una & PSN_MASK:
            return
        original(packet, now)

    sender.on_answer = on_answer


def _answers(change: Callable[[Any, Any], Any]) -> Callable[[Any], None]:
    """`change(receiver, answer)`: what is answered; None: nothing."""

    def broken(receiver: Any) -> None:
        original = receiver._answer

        def answer(syndrome: int, packet: Any) -> None:
            original(syndrome, packet)
            changed = change(receiver, receiver.answers.pop())
            if changed is not None:
                receiver.answers.append(changed)

        receiver._answer = answer

    broken.__name__, broken.__doc__ = change.__name__, change.__doc__
    return _receivers(broken)


@_answers
def names_what_came_last(receiver: Any, answer: Any) -> Any:
    """The cumulative PSN is the one that came last, as plain RoCE has it."""
    return answer._replace(sack=Sack(psn_add(answer.sack.cumulative, -1), answer.sack.selective))


@_answers
def gap_names_what_is_missing(receiver: Any, answer: Any) -> Any:
    """A negative answer names the missing packet where the one that came belongs."""
    if answer.syndrome != 0x60:
        return answer
    return answer._replace(sack=Sack(answer.sack.cumulative, answer.sack.cumulative))


@_answers
def gaps_answered_once(receiver: Any, answer: Any) -> Any:
    """As go-back-N does: one negative answer per gap."""
    told = getattr(receiver, "told", -1)
    if answer.syndrome == 0x60:
        receiver.told = answer.sack.cumulative
        return None if told == answer.sack.cumulative else answer
    return answer


@_receivers
def duplicates_unanswered_by_irn(receiver: Any) -> None:
    original = receiver.on_request

    def on_request(packet: Any) -> None:
        before = receiver._counters.duplicates_received
        original(packet)
        if receiver._counters.duplicates_received > before:
            receiver.answers.pop()

    receiver.on_request = on_request


@_receivers
def duplicate_counted_as_a_message(receiver: Any) -> None:
    """A late copy of a message's last packet raises the MSN."""
    original = receiver.on_request

    def on_request(packet: Any) -> None:
        before = receiver._counters.duplicates_received
        original(packet)
        if receiver._counters.duplicates_received > before and packet.imm is not None:
            receiver.msn += 1

    receiver.on_request = on_request


@_receivers
def msn_before_the_gap_is_filled(receiver: Any) -> None:
    """A message counts when its last packet came, whole or not."""
    original = receiver._answer

    def answer(syndrome: int, packet: Any) -> None:
        original(syndrome, packet)
        if syndrome == 0x60 and packet.imm is not None:
            receiver.answers[-1] = receiver.answers[-1]._replace(msn=psn_add(receiver.msn, 1))

    receiver._answer = answer


@_receivers
def kept_packets_forgotten(receiver: Any) -> None:
    """What fills a gap takes nothing along: the packets behind it are expected again."""

    class Forgetful(Arrivals):
        def advance(self) -> None:
            self._here = 0

    receiver.arrivals.__class__ = Forgetful


class MessageByItsSlot(NetReduceProgram):
    """Which message a packet is of follows from its slot: a late copy is taken for the message that has the slot
    now."""

    def slot_event(self, c: Any, slot: int) -> Any:
        if c.ring.is_irn:
            c.message = int(c.ring.tag[slot])
        return super().slot_event(c, slot)


class OffsetOneLess(NetReduceProgram):
    """The INA header of the first packet is taken for a packet of its own."""

    def _aggregate(self, packet: Any, place: Any) -> None:
        if place.edge.ring.is_irn and place.offset > 1:
            place = place._replace(offset=place.offset - 1)
        super()._aggregate(packet, place)


class AnswersOfIrnSwallowed(NetReduceProgram):
    """An opcode that the switch does not know does not pass."""

    def bypass(self, port: int, frame: Any) -> None:
        if frame[42] != 0xC1 or frame[54] != 0x60:
            super().bypass(port, frame)


IRN_ENDPOINT_MUTANTS: tuple[Callable[[Any], None], ...] = (
    BitmapShiftedByOne, SelectiveAnswersIgnored, HolesAboveAllThatArrived, EverythingLostAtOneTimer,
    RecoveryLeftTooEarly, CapOfOneMore, CumulativeOneMore, rto_low_with_many_in_flight, repeats_go_to_the_begin,
    psns_of_answers_do_not_wrap, names_what_came_last, gap_names_what_is_missing, gaps_answered_once,
    duplicates_unanswered_by_irn, duplicate_counted_as_a_message, msn_before_the_gap_is_filled, kept_packets_forgotten,
)  # fmt: skip
IRN_SWITCH_MUTANTS: tuple[type[NetReduceProgram], ...] = (MessageByItsSlot, OffsetOneLess, AnswersOfIrnSwallowed)
IRN_NOT_HUNTED: dict[Callable[[Any], None], str] = {
    CapOfOneMore: "never reached: a drawn window of messages is smaller than the cap of its line; `test_irn_window` "
    "has it",
}
"""those that break no rule, and why"""
