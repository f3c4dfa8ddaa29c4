"""The RC responder as a table.

Rule 1: the PSN is judged first. A packet ahead of the expected one is dropped, whatever its opcode. The first of them
brings one sequence NAK. There is no second one until the expected PSN came.
Rule 2: a packet behind the expected one is a duplicate: never executed, always acknowledged again.
Rule 3: the expected packet must continue the opcode sequence (FIRST MIDDLE* LAST, or ONLY), and be valid and permitted.
Otherwise a NAK ends the queue pair.
Rule 4: without a receive for it the packet is refused by an RNR NAK and stays expected.
Rule 5: of a trimmed packet only the PSN counts. The expected one brings a sequence NAK, whether or not there was one
for it before. Each NAK says that one more copy was lost. A trimmed packet behind or ahead is treated as any other
there.

Source: kernel drivers/infiniband/sw/rxe/rxe_resp.c (check_psn, check_op_seq, check_op_valid, check_resource,
check_length, check_rkey), IBTA vol. 1, 9.7.4 and 9.7.5.1; marks in docs/roce.md.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

__all__ = ["RESPONDER_TABLE", "ResponderAction", "ResponderEvent", "ResponderState", "ResponderStep"]


class ResponderState(IntEnum):
    EXPECT_FIRST = 0
    """state between messages"""
    IN_MESSAGE = 1
    EXPECT_FIRST_GAP = 2
    """state between messages, after a sequence NAK for the expected PSN"""
    IN_MESSAGE_GAP = 3
    ERROR = 4


class ResponderEvent(IntEnum):
    AHEAD = 0
    DUPLICATE = 1
    FIRST = 2
    """the expected PSN, by the position of its opcode in a message: FIRST, MIDDLE, LAST, ONLY"""
    MIDDLE = 3
    LAST = 4
    ONLY = 5
    NO_RECEIVE = 6
    """the expected packet in its right place, and no receive is posted for it"""
    INVALID = 7
    """the expected PSN with a wrong length, kind or an opcode that we do not serve"""
    NO_ACCESS = 8
    """the expected packet in its right place, and its memory key or range is not ours"""
    TRIMMED = 9
    """the headers of the expected PSN, without its payload"""


class ResponderAction(IntEnum):
    EXECUTE = 0
    """place the payload, expect the next PSN"""
    DELIVER = 1
    """the message is complete: count it (MSN), complete its receive"""
    ACK_IF_DUE = 2
    """AckReq, or enough packets without it"""
    ACK = 3
    NAK_SEQUENCE = 4
    NAK_RNR = 5
    NAK_INVALID = 6
    NAK_ACCESS = 7


class ResponderStep(NamedTuple):
    state: ResponderState
    actions: tuple[ResponderAction, ...] = ()


_S, _E, _A = ResponderState, ResponderEvent, ResponderAction
_PLACE = ResponderStep(_S.IN_MESSAGE, (_A.EXECUTE, _A.ACK_IF_DUE))
_FINISH = ResponderStep(_S.EXPECT_FIRST, (_A.EXECUTE, _A.DELIVER, _A.ACK_IF_DUE))
_INVALID = ResponderStep(_S.ERROR, (_A.NAK_INVALID,))
_NO_ACCESS = ResponderStep(_S.ERROR, (_A.NAK_ACCESS,))

RESPONDER_TABLE: dict[tuple[ResponderState, ResponderEvent], ResponderStep] = {
    (_S.EXPECT_FIRST, _E.AHEAD): ResponderStep(_S.EXPECT_FIRST_GAP, (_A.NAK_SEQUENCE,)),
    (_S.IN_MESSAGE, _E.AHEAD): ResponderStep(_S.IN_MESSAGE_GAP, (_A.NAK_SEQUENCE,)),
    (_S.EXPECT_FIRST_GAP, _E.AHEAD): ResponderStep(_S.EXPECT_FIRST_GAP),
    (_S.IN_MESSAGE_GAP, _E.AHEAD): ResponderStep(_S.IN_MESSAGE_GAP),
}
for _state, _gap in (
    (_S.EXPECT_FIRST, _S.EXPECT_FIRST_GAP),
    (_S.IN_MESSAGE, _S.IN_MESSAGE_GAP),
    (_S.EXPECT_FIRST_GAP, _S.EXPECT_FIRST_GAP),
    (_S.IN_MESSAGE_GAP, _S.IN_MESSAGE_GAP),
):
    RESPONDER_TABLE[_state, _E.TRIMMED] = ResponderStep(_gap, (_A.NAK_SEQUENCE,))
for _state in (_S.EXPECT_FIRST, _S.IN_MESSAGE, _S.EXPECT_FIRST_GAP, _S.IN_MESSAGE_GAP):
    RESPONDER_TABLE[_state, _E.DUPLICATE] = ResponderStep(_state, (_A.ACK,))
for _state in (_S.EXPECT_FIRST, _S.EXPECT_FIRST_GAP):  # the expected PSN closes the gap
    RESPONDER_TABLE |= {
        (_state, _E.FIRST): _PLACE,
        (_state, _E.ONLY): _FINISH,
        (_state, _E.MIDDLE): _INVALID,
        (_state, _E.LAST): _INVALID,
        (_state, _E.NO_RECEIVE): ResponderStep(_S.EXPECT_FIRST, (_A.NAK_RNR,)),
        (_state, _E.INVALID): _INVALID,
        (_state, _E.NO_ACCESS): _NO_ACCESS,
    }
for _state in (_S.IN_MESSAGE, _S.IN_MESSAGE_GAP):
    RESPONDER_TABLE |= {
        (_state, _E.MIDDLE): _PLACE,
        (_state, _E.LAST): _FINISH,
        (_state, _E.FIRST): _INVALID,
        (_state, _E.ONLY): _INVALID,
        (_state, _E.NO_RECEIVE): ResponderStep(_S.IN_MESSAGE, (_A.NAK_RNR,)),
        (_state, _E.INVALID): _INVALID,
        (_state, _E.NO_ACCESS): _NO_ACCESS,
    }
for _event in ResponderEvent:
    RESPONDER_TABLE[_S.ERROR, _event] = ResponderStep(_S.ERROR)
