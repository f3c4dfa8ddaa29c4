"""RC endpoints with go-back-N that are wrong in one way each, for the hunter: most cost time and no sum, so that only
rules of endpoints (`testbed.hunt.endpoint_rules`) see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.rc.answers import Answer
from workloads.rc.go_back_n import GoBackN
from workloads.rc.requester_table import RequesterEvent, RequesterState
from workloads.rc.responder import Responder
from workloads.rc.responder_table import ResponderAction, ResponderState
from workloads.wire import OPCODES, PSN_MASK, Nak, is_ack, is_rnr, psn_add, psn_diff

__all__ = ["ENDPOINT_MUTANTS", "ENDPOINT_NOT_HUNTED"]


def _halves(worker: Any, half: str) -> list[Any]:
    worker._endpoint._fast = None  # the reference alone is changed
    return [getattr(qp, half) for qp in worker._endpoint._order]


def _responders(change: Callable[[Any], None]) -> Callable[[Any], None]:
    def all_of(worker: Any) -> None:
        for responder in _halves(worker, "responder"):
            if isinstance(responder, Responder):
                change(responder)

    all_of.__name__, all_of.__doc__ = change.__name__, change.__doc__
    return all_of


def _requesters(change: Callable[[Any], None]) -> Callable[[Any], None]:
    def all_of(worker: Any) -> None:
        for requester in _halves(worker, "requester"):
            if isinstance(requester.recovery, GoBackN):
                change(requester.recovery)

    all_of.__name__, all_of.__doc__ = change.__name__, change.__doc__
    return all_of


@_responders
def msn_off_by_one(responder: Any) -> None:
    responder.msn = 1


@_responders
def msn_counts_packets(responder: Any) -> None:
    original = responder._execute

    def execute(packet: Any) -> None:
        original(packet)
        if not OPCODES[packet.opcode].ends:
            responder.msn += 1

    responder._execute = execute


@_responders
def msn_of_the_ack_before(responder: Any) -> None:
    """A message that has just ended is counted in the next answer."""
    original = responder._deliver

    def deliver(imm: int | None) -> None:
        original(imm)
        responder.msn -= 1
        responder.late = getattr(responder, "late", 0) + 1

    def answer(psn: int, syndrome: int) -> None:
        responder._unacknowledged = 0
        responder.answers.append(Answer(psn, int(syndrome), responder.msn))
        responder.msn, responder.late = responder.msn + getattr(responder, "late", 0), 0

    responder._deliver, responder._answer = deliver, answer


@_responders
def acks_what_comes_next(responder: Any) -> None:
    """An ACK names the PSN that is expected, not the one before it."""

    def acknowledge() -> None:
        responder._answer(responder.expected, 0x1F)
        responder._counters.acks_sent += 1

    responder._acknowledge = acknowledge


@_responders
def acks_the_duplicate(responder: Any) -> None:
    """A duplicate is acknowledged by its own PSN."""
    original = responder.on_request

    def on_request(packet: Any) -> None:
        original(packet)
        if psn_diff(packet.psn, responder.expected) < -1 and responder.answers:
            responder.answers[-1] = responder.answers[-1]._replace(psn=packet.psn)

    responder.on_request = on_request


@_responders
def duplicates_unanswered(responder: Any) -> None:
    original = responder.on_request

    def on_request(packet: Any) -> None:
        if psn_diff(packet.psn, responder.expected) >= 0 or responder.state is ResponderState.ERROR:
            original(packet)

    responder.on_request = on_request


@_responders
def asks_for_acks_are_ignored(responder: Any) -> None:
    """AckReq counts only with the end of a message."""
    original = responder.on_request

    def on_request(packet: Any) -> None:
        ends = OPCODES[packet.opcode].ends
        original(packet if ends else packet._replace(ack_req=False))

    responder.on_request = on_request


@_responders
def nak_for_each_packet(responder: Any) -> None:
    """A gap is forgotten as soon as it was told."""
    original = responder._refuse

    def refuse(action: ResponderAction, packet: Any) -> None:
        original(action, packet)
        if action is ResponderAction.NAK_SEQUENCE:
            inside = responder.state is ResponderState.IN_MESSAGE_GAP
            responder.state = ResponderState.IN_MESSAGE if inside else ResponderState.EXPECT_FIRST

    responder._refuse = refuse


@_responders
def nak_names_what_came(responder: Any) -> None:
    """Not what is missing."""
    original = responder._refuse

    def refuse(action: ResponderAction, packet: Any) -> None:
        original(action, packet)
        if action is ResponderAction.NAK_SEQUENCE:
            responder.answers[-1] = responder.answers[-1]._replace(psn=packet.psn)

    responder._refuse = refuse


@_responders
def no_nak_between_messages(responder: Any) -> None:
    original = responder._refuse

    def refuse(action: ResponderAction, packet: Any) -> None:
        if action is not ResponderAction.NAK_SEQUENCE or responder.state is ResponderState.IN_MESSAGE_GAP:
            original(action, packet)

    responder._refuse = refuse


@_responders
def newest_answer_first(responder: Any) -> None:
    """Answers that wait leave in the wrong order."""

    class Backwards(type(responder.answers)):  # type: ignore[misc]
        def popleft(self) -> Answer:
            return self.pop()  # type: ignore[no-any-return]

    responder.answers = Backwards()


@_responders
def refused_packet_is_placed(responder: Any) -> None:
    """A packet without a receive is refused, and counted as come."""
    original = responder._refuse

    def refuse(action: ResponderAction, packet: Any) -> None:
        original(action, packet)
        if action is ResponderAction.NAK_RNR and OPCODES[packet.opcode].starts:
            responder.expected = psn_add(responder.expected, 1)

    responder._refuse = refuse


@_responders
def responder_without_wrap(responder: Any) -> None:
    """A PSN that is a smaller number is a duplicate."""
    original = responder.on_request

    def on_request(packet: Any) -> None:
        expected = responder.expected
        if packet.psn > expected + (1 << 23):
            original(packet._replace(psn=psn_add(expected, 1)))
        elif packet.psn < expected and expected - packet.psn > 1 << 23:
            original(packet._replace(psn=psn_add(expected, -1)))
        else:
            original(packet)

    responder.on_request = on_request


@_requesters
def rnr_wait_ignored(requester: Any) -> None:
    """It goes back at once."""
    _after_rnr(requester, lambda now, deadline: now)


@_requesters
def rnr_wait_halved(requester: Any) -> None:
    _after_rnr(requester, lambda now, deadline: now + (deadline - now) // 2)


def _after_rnr(requester: Any, change: Callable[[int, int], int]) -> None:
    original = requester._step

    def step(event: RequesterEvent, now: int, **more: Any) -> None:
        original(event, now, **more)
        if event is RequesterEvent.NAK_RNR and requester.state is RequesterState.RNR_WAIT and requester.deadline:
            requester.deadline = change(now, requester.deadline)

    requester._step = step


@_requesters
def sends_while_it_waits(requester: Any) -> None:
    """What was not sent yet may leave while an RNR timer runs."""
    kind = type(requester)

    class Impatient(kind):  # type: ignore[misc,valid-type]
        @property
        def can_send(self) -> bool:
            ready = bool(self.nxt < self._queue.end and self.nxt - self.una < self.window)
            return ready and self.state not in (RequesterState.IDLE, RequesterState.ERROR)

    requester.__class__ = Impatient


def _on_answer(requester: Any, change: Callable[[int, int], int | None]) -> None:
    """`change(psn, syndrome)`: the PSN that is believed; None: nothing is."""
    original = requester.hear

    def hear(psn: int, syndrome: int, now: int) -> None:
        believed = change(psn, syndrome)
        if believed is not None:
            original(believed & PSN_MASK, syndrome, now)

    requester.hear = hear


@_requesters
def believes_what_was_never_sent(requester: Any) -> None:
    """An ACK beyond all that was sent acknowledges all that was sent."""

    def change(psn: int, syndrome: int) -> int:
        last = requester.max_nxt - 1
        beyond = psn_diff(psn, last & PSN_MASK) > 0 and is_ack(syndrome)
        return last if beyond and last >= requester.una else psn

    _on_answer(requester, change)


@_requesters
def believes_any_nak(requester: Any) -> None:
    """A sequence NAK about what was never sent asks for the oldest packet."""

    def change(psn: int, syndrome: int) -> int:
        beyond = psn_diff(psn, requester.max_nxt & PSN_MASK) >= 0 and syndrome == Nak.PSN_SEQUENCE
        return max(requester.una, requester.max_nxt - 1) if beyond else psn

    _on_answer(requester, change)


@_requesters
def takes_one_more(requester: Any) -> None:
    """An ACK covers the PSN behind the one that it names, where that was sent."""

    def change(psn: int, syndrome: int) -> int:
        ahead = psn_diff(psn, requester.una & PSN_MASK)
        return psn + 1 if is_ack(syndrome) and ahead >= 0 and requester.una + ahead + 1 < requester.max_nxt else psn

    _on_answer(requester, change)


@_requesters
def takes_one_less(requester: Any) -> None:
    """An ACK covers what is in front of the PSN that it names."""
    _on_answer(requester, lambda psn, syndrome: psn - 1 if is_ack(syndrome) else psn)


@_requesters
def old_answers_count(requester: Any) -> None:
    """An ACK of long ago acknowledges one more packet."""

    def change(psn: int, syndrome: int) -> int:
        old = psn_diff(psn, requester.una & PSN_MASK) < -1 and is_ack(syndrome)
        return requester.una if old and requester.una < requester.max_nxt else psn

    _on_answer(requester, change)


@_requesters
def naks_acknowledge_nothing(requester: Any) -> None:
    """What is in front of the PSN that a NAK names is sent again, too."""
    original = requester._progress
    asked = requester._asks
    requester.asking = False

    def asks(syndrome: int) -> Any:
        requester.asking = True
        return asked(syndrome)

    def progress(acknowledged: int, now: int) -> None:
        if not requester.asking:
            original(acknowledged, now)

    entry = requester.hear

    def hear(psn: int, syndrome: int, now: int) -> None:
        requester.asking = False
        entry(psn, syndrome, now)

    requester._asks, requester._progress, requester.hear = asks, progress, hear


@_requesters
def goes_back_one_short(requester: Any) -> None:
    """Behind a NAK the packet after the missing one leaves first."""
    original = requester._go_back

    def go_back(cause: str, now: int) -> None:
        original(cause, now)
        first = requester._messages[0]
        if cause == "nak" and requester.nxt + 1 < min(requester.max_nxt, first.end):
            requester.nxt += 1

    requester._go_back = go_back


@_requesters
def retries_never_refilled(requester: Any) -> None:
    requester._refill = lambda: None


@_requesters
def rnr_spends_retries(requester: Any) -> None:
    """An RNR NAK takes from the retries of timeouts."""
    original = requester._step

    def step(event: RequesterEvent, now: int, **more: Any) -> None:
        if event is RequesterEvent.NAK_RNR:
            event = RequesterEvent.NAK_RNR if requester._retry_left else RequesterEvent.NAK_RNR_SPENT
            requester._retry_left -= 1
        original(event, now, **more)

    requester._step = step


@_requesters
def rnr_is_a_gap(requester: Any) -> None:
    """An RNR NAK is taken for a sequence NAK."""
    original = requester._asks

    def asks(syndrome: int) -> Any:
        return RequesterEvent.NAK_SEQUENCE if is_rnr(syndrome) else original(syndrome)

    requester._asks = asks


ENDPOINT_MUTANTS: tuple[Callable[[Any], None], ...] = (
    msn_off_by_one, msn_counts_packets, msn_of_the_ack_before, acks_what_comes_next, acks_the_duplicate,
    duplicates_unanswered, asks_for_acks_are_ignored, nak_for_each_packet, nak_names_what_came, no_nak_between_messages,
    newest_answer_first, refused_packet_is_placed, responder_without_wrap, rnr_wait_ignored, rnr_wait_halved,
    sends_while_it_waits, believes_what_was_never_sent, believes_any_nak, takes_one_more, takes_one_less,
    old_answers_count, naks_acknowledge_nothing, goes_back_one_short, retries_never_refilled, rnr_spends_retries,
    rnr_is_a_gap,
)  # fmt: skip
ENDPOINT_NOT_HUNTED: dict[Callable[[Any], None], str] = {
    asks_for_acks_are_ignored: "never reached: a drawn message is shorter than the 64 packets behind which one asks "
    "inside it",
}
"""those that break no rule, and why"""
