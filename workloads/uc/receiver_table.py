"""The UC responder as a table.

Rule 1: nothing is ever answered. A packet that does not fit is dropped, and with it the rest of its message.
Rule 2: a FIRST or ONLY begins a message whatever its PSN is, and whatever went before. Its PSN is the one to continue
from. So the loss of a whole message is not seen here, and an old copy of an ONLY is taken like a new message.
Rule 3: a MIDDLE or LAST must have the expected PSN and stand inside a message. Otherwise it and all packets after it
are dropped, up to the next FIRST or ONLY. This holds even if the missing packet comes after all.
Rule 4: a FIRST or ONLY inside a message ends that message without a word: its last packets were lost.

Sources: IBTA vol. 1, 9.8.3; kernel drivers/infiniband/sw/rxe/rxe_resp.c (check_psn and check_op_seq, their UC cases;
do_class_d1e_error); `p4lang/p4app-switchML`, the switch's RDMA receiver, goes by the same rules.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

__all__ = ["RECEIVER_TABLE", "UcAction", "UcEvent", "UcState", "UcStep"]


class UcState(IntEnum):
    EXPECT_FIRST = 0
    """state between messages"""
    IN_MESSAGE = 1
    DROPPING = 2
    """a packet is missing: nothing is taken before the next FIRST or ONLY"""


class UcEvent(IntEnum):
    FIRST = 0
    """by the position of its opcode in a message; of a MIDDLE or LAST: with the expected PSN"""
    ONLY = 1
    MIDDLE = 2
    LAST = 3
    GAP = 4
    """a MIDDLE or LAST with another PSN"""
    INVALID = 5
    """a length that contradicts the path MTU or the RETH, or no RDMA WRITE"""


class UcAction(IntEnum):
    ABANDON = 0
    """forget the message that was arriving"""
    BEGIN = 1
    """remember what RETH says"""
    PLACE = 2
    """take the payload, expect the next PSN"""
    DELIVER = 3
    """the message is complete"""
    DROP = 4


class UcStep(NamedTuple):
    state: UcState
    actions: tuple[UcAction, ...] = ()


_S, _E, _A = UcState, UcEvent, UcAction
_OPEN = UcStep(_S.IN_MESSAGE, (_A.BEGIN, _A.PLACE))
_WHOLE = UcStep(_S.EXPECT_FIRST, (_A.BEGIN, _A.PLACE, _A.DELIVER))
_DROP = UcStep(_S.DROPPING, (_A.DROP,))
_BREAK = UcStep(_S.DROPPING, (_A.ABANDON, _A.DROP))

RECEIVER_TABLE: dict[tuple[UcState, UcEvent], UcStep] = {
    (_S.IN_MESSAGE, _E.FIRST): UcStep(_OPEN.state, (_A.ABANDON, *_OPEN.actions)),
    (_S.IN_MESSAGE, _E.ONLY): UcStep(_WHOLE.state, (_A.ABANDON, *_WHOLE.actions)),
    (_S.IN_MESSAGE, _E.MIDDLE): UcStep(_S.IN_MESSAGE, (_A.PLACE,)),
    (_S.IN_MESSAGE, _E.LAST): UcStep(_S.EXPECT_FIRST, (_A.PLACE, _A.DELIVER)),
    (_S.IN_MESSAGE, _E.GAP): _BREAK,
    (_S.IN_MESSAGE, _E.INVALID): _BREAK,
}
for _state in (_S.EXPECT_FIRST, _S.DROPPING):
    RECEIVER_TABLE |= {(_state, _E.FIRST): _OPEN, (_state, _E.ONLY): _WHOLE}
    RECEIVER_TABLE |= {(_state, _event): _DROP for _event in (_E.MIDDLE, _E.LAST, _E.GAP, _E.INVALID)}
