"""The RC requester as a table.

Rule 1: go-back-N. Whatever shows a loss (sequence NAK, timeout, RNR NAK) sets the next PSN back to the oldest
        unacknowledged one.
Rule 2: one retry per gap. In RETRYING a sequence NAK is ignored: packets sent before the retry bring it again, and a
        responder NAKs a gap once. A NAK for a later PSN acknowledges what is before it, and so ends RETRYING first.
Rule 3: in RNR_WAIT nothing is sent until the responder's timer has run out, whatever else comes. The packets behind the
refused one bring a sequence NAK for the same PSN.
Rule 4: every answer that acknowledges something new fills the retry budgets up again.

Rule 5: where switches trim, a responder NAKs a gap again for each copy of the packet that came without its payload. A
sequence NAK is never ignored there. It costs no retry, since a peer that reports trimmed packets is alive. Then one
packet may be unacknowledged, and one more for each that is acknowledged. Senders that filled a full queue again with
the packets behind the gap would get the missing packet trimmed for ever.

Source: kernel drivers/infiniband/sw/rxe/rxe_comp.c (check_ack, COMPST_ERROR_RETRY, COMPST_RNR_RETRY), IBTA vol. 1,
9.7.5 to 9.9.2; marks and deviations in docs/roce.md. A NAK is taken apart before the table sees it: what it
acknowledges (ACK_SOME, ACK_ALL), then what it asks for.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

__all__ = ["REQUESTER_TABLE", "RequesterAction", "RequesterEvent", "RequesterState", "RequesterStep"]


class RequesterState(IntEnum):
    IDLE = 0
    """nothing posted that is not acknowledged"""
    SENDING = 1
    RETRYING = 2
    """went back, and nothing new was acknowledged since"""
    RNR_WAIT = 3
    """the responder had no receive posted and said how long to wait"""
    ERROR = 4


class RequesterEvent(IntEnum):
    POST = 0
    """a message was posted"""
    ACK_SOME = 1
    """something new was acknowledged, something posted is left"""
    ACK_ALL = 2
    """everything posted is acknowledged"""
    ACK_STALE = 3
    """an answer that says nothing new"""
    ACK_UNSENT = 4
    """an answer about a PSN that was never sent"""
    NAK_SEQUENCE = 5
    NAK_SEQUENCE_SPENT = 6
    """and no retry is left"""
    NAK_RNR = 7
    NAK_RNR_SPENT = 8
    """and no RNR retry is left"""
    NAK_FATAL = 9
    """invalid request, remote access error, remote operational error"""
    TIMER = 10
    TIMER_SPENT = 11
    """and no retry is left"""
    NAK_RENEWED = 12
    """a sequence NAK where switches trim"""


class RequesterAction(IntEnum):
    ACKNOWLEDGE = 0
    """move the oldest unacknowledged PSN, complete messages, fill the budgets up"""
    RESTART_TIMER = 1
    """or stop it when nothing sent is unacknowledged"""
    STOP_TIMER = 2
    SPEND_RETRY = 3
    SPEND_RNR = 4
    GO_BACK = 5
    """next PSN = oldest unacknowledged; restart the timer"""
    WAIT_RNR = 6
    """set the timer to the responder's wish"""
    REJECT = 7
    """count and report"""
    FAIL = 8
    """the oldest message gets the error, the others are flushed"""
    FLUSH = 9


class RequesterStep(NamedTuple):
    state: RequesterState
    actions: tuple[RequesterAction, ...] = ()


_S, _E, _A = RequesterState, RequesterEvent, RequesterAction
_GO_BACK = RequesterStep(_S.RETRYING, (_A.SPEND_RETRY, _A.GO_BACK))
_GO_BACK_FREELY = RequesterStep(_S.RETRYING, (_A.GO_BACK,))
_WAIT = RequesterStep(_S.RNR_WAIT, (_A.SPEND_RNR, _A.WAIT_RNR))
_FAIL = RequesterStep(_S.ERROR, (_A.STOP_TIMER, _A.FAIL))
_ALL_ACKED = RequesterStep(_S.IDLE, (_A.ACKNOWLEDGE, _A.STOP_TIMER))
_SOME_ACKED = RequesterStep(_S.SENDING, (_A.ACKNOWLEDGE, _A.RESTART_TIMER))

REQUESTER_TABLE: dict[tuple[RequesterState, RequesterEvent], RequesterStep] = {
    # Nothing is outstanding in IDLE: every answer is stale or about a PSN never sent, and no timer runs.
    (_S.IDLE, _E.POST): RequesterStep(_S.SENDING),
    (_S.SENDING, _E.POST): RequesterStep(_S.SENDING),
    (_S.SENDING, _E.ACK_SOME): _SOME_ACKED,
    (_S.SENDING, _E.ACK_ALL): _ALL_ACKED,
    (_S.SENDING, _E.NAK_SEQUENCE): _GO_BACK,
    (_S.SENDING, _E.NAK_SEQUENCE_SPENT): _FAIL,
    (_S.SENDING, _E.NAK_RNR): _WAIT,
    (_S.SENDING, _E.NAK_RNR_SPENT): _FAIL,
    (_S.SENDING, _E.NAK_FATAL): _FAIL,
    (_S.SENDING, _E.TIMER): _GO_BACK,
    (_S.SENDING, _E.TIMER_SPENT): _FAIL,
    (_S.SENDING, _E.NAK_RENEWED): _GO_BACK_FREELY,
    (_S.RETRYING, _E.NAK_RENEWED): _GO_BACK_FREELY,
    (_S.RETRYING, _E.POST): RequesterStep(_S.RETRYING),
    (_S.RETRYING, _E.ACK_SOME): _SOME_ACKED,
    (_S.RETRYING, _E.ACK_ALL): _ALL_ACKED,
    (_S.RETRYING, _E.NAK_RNR): _WAIT,
    (_S.RETRYING, _E.NAK_RNR_SPENT): _FAIL,
    (_S.RETRYING, _E.NAK_FATAL): _FAIL,
    (_S.RETRYING, _E.TIMER): _GO_BACK,
    (_S.RETRYING, _E.TIMER_SPENT): _FAIL,
    (_S.RNR_WAIT, _E.POST): RequesterStep(_S.RNR_WAIT),
    (_S.RNR_WAIT, _E.ACK_SOME): RequesterStep(_S.RNR_WAIT, (_A.ACKNOWLEDGE,)),
    (_S.RNR_WAIT, _E.ACK_ALL): _ALL_ACKED,
    (_S.RNR_WAIT, _E.NAK_FATAL): _FAIL,
    # The wait is over. RETRYING, because the sequence NAK of the round before may still be on its way.
    (_S.RNR_WAIT, _E.TIMER): _GO_BACK_FREELY,
    (_S.RNR_WAIT, _E.TIMER_SPENT): _GO_BACK_FREELY,
    (_S.ERROR, _E.POST): RequesterStep(_S.ERROR, (_A.FLUSH,)),
}
# Everything else changes nothing; answers about PSNs never sent are reported in every state that hears answers.
for _state in RequesterState:
    for _event in RequesterEvent:
        _heard = _event is _E.ACK_UNSENT and _state is not _S.ERROR
        REQUESTER_TABLE.setdefault((_state, _event), RequesterStep(_state, (_A.REJECT,) if _heard else ()))
