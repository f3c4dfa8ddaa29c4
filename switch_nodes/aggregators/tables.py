"""The automaton of an aggregator slot as a table, for every setting of the knobs that changes it.

Sources: the branches of ATP are those of the released program (`in-ATP/ATP`; protocol text, section 3.1), which has
them as match-action stages. The states are ours: EMPTY has no owner, DONE has a full bitmap. EVICT, RELEASE, REMIND and
RECLAIM are ESA as reconstructed here (sections 4.1 and 4.3): decided, not sourced. MISMATCH is ours, too.

Rule 1: what becomes of a packet is decided by this table alone; the program computes the event and does the action.
Rule 2: a pair that is not in the table needs a peer that breaks the protocol: its packet is dropped (`Automaton`).
        Tests feed every pair of the table.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from switch_nodes.jobs import AggregatorKnobs
from workloads.automaton import UNFORESEEN, Automaton

__all__ = [
    "DROP_REASONS",
    "AggregatorAction",
    "AggregatorEvent",
    "AggregatorState",
    "Table",
    "aggregator_table",
    "atp_knobs",
]


class AggregatorState(Enum):
    EMPTY = "no owner"
    FILLING = "some contributions to its owner's block"
    DONE = "all contributions; the sum stays until the server's result comes (free: ack)"


class AggregatorEvent(Enum):
    """What a packet is to the slot that it names. Its own slot: one that serves its job and block."""

    number: int
    """its place here, from 0: as compiled code knows it"""

    NEW = "contribution to its own slot or to an empty one; others are missing"
    COMPLETING = "as NEW, and nothing is missing any more"
    REPEAT = "contribution that is inside its own slot"
    MISMATCH = "another size than its own slot"
    SUCCESSOR = "the slot serves an older block of its job (reclaim)"
    OTHER = "the slot serves another block"
    OTHER_LOWER = "as OTHER, and of lower priority than the packet, which needs a slot"
    BYPASS = "not to be aggregated here: overflow, collided or evicted before, or a single worker of another rack"
    RESEND_OWN = "sent again, to its own slot"
    RESEND_OTHER = "sent again; its slot is empty or serves another block"
    RESULT_OWN = "the server's result of the slot's block"
    RESULT_OVERFLOW = "as RESULT_OWN, with overflow and not sent again: the sum is not final"
    RESULT_OTHER = "the server's result of another block"
    REMINDER_OWN = "the server asks for the slot's block"
    REMINDER_OTHER = "the server asks for a block that is not here"


class AggregatorAction(Enum):
    """What the program does with the packet; `AggregatorProgram` has a handler for each."""

    ADD = "add it to the slot"
    SEND_SUM = "add it, send the sum on, and keep the sum until its result comes"
    RELEASE = "add it, send the sum, and free the slot at once"
    REPEAT_SUM = "send the kept sum again"
    PASS = "send it on as it is"
    COLLIDE = "send it on, marked as collided"
    EVICT = "send on what is inside, and let the packet have the slot"
    RECLAIM = "free the slot, and judge the packet again"
    FLUSH = "send on what is inside together with the packet, and free the slot"
    FREE = "free the slot, and deliver the result"
    DELIVER = "deliver the result"
    REMIND = "send the server what is inside, and free the slot"
    ANSWER_EMPTY = "tell the server that nothing is here"
    DROP_DUPLICATE = "drop, reason duplicate; its mark and its priority count"
    DROP_MISMATCH = "drop, reason mismatch"
    UNFORESEEN = "drop, reason unforeseen: a peer breaks the protocol"


for _number, _event in enumerate(AggregatorEvent):
    _event.number = _number

Table = dict[tuple[AggregatorState, AggregatorEvent], tuple[AggregatorState, AggregatorAction]]
_S, _E, _A = AggregatorState, AggregatorEvent, AggregatorAction
_OCCUPIED = (_S.FILLING, _S.DONE)
_ATP: Table = {
    (_S.EMPTY, _E.NEW): (_S.FILLING, _A.ADD),
    (_S.EMPTY, _E.COMPLETING): (_S.DONE, _A.SEND_SUM),  # a job, or a rack, of one worker
    (_S.FILLING, _E.NEW): (_S.FILLING, _A.ADD),
    (_S.FILLING, _E.COMPLETING): (_S.DONE, _A.SEND_SUM),
    (_S.FILLING, _E.REPEAT): (_S.FILLING, _A.DROP_DUPLICATE),
    (_S.DONE, _E.REPEAT): (_S.DONE, _A.REPEAT_SUM),  # the sum was lost on its way to the server
    **{(state, _E.MISMATCH): (state, _A.DROP_MISMATCH) for state in _OCCUPIED},
    **{(state, _E.OTHER): (state, _A.COLLIDE) for state in _OCCUPIED},
    **{(state, _E.OTHER_LOWER): (state, _A.COLLIDE) for state in _OCCUPIED},
    **{(state, _E.BYPASS): (state, _A.PASS) for state in _S},
    **{(state, _E.RESEND_OTHER): (state, _A.PASS) for state in _S},  # never allocates, and is no collision
    **{(state, _E.RESEND_OWN): (_S.EMPTY, _A.FLUSH) for state in _OCCUPIED},
    **{(state, _E.RESULT_OWN): (_S.EMPTY, _A.FREE) for state in _OCCUPIED},
    **{(state, _E.RESULT_OVERFLOW): (state, _A.DELIVER) for state in _OCCUPIED},
    **{(state, _E.RESULT_OTHER): (state, _A.DELIVER) for state in _S},
}


def atp_knobs(reclaim: bool = True) -> AggregatorKnobs:
    """With these, and equal priorities, `esa` does what `atp` does, byte for byte."""
    return AggregatorKnobs(preempt=False, age="none", free="ack", ps_copy=False, reminder=False, reclaim=reclaim)


@cache
def aggregator_table(knobs: AggregatorKnobs) -> Automaton[AggregatorState, AggregatorEvent, AggregatorAction]:
    """SUCCESSOR leaves the slot empty, and the packet then meets it again."""
    table = dict(_ATP)
    if knobs.reclaim:
        table |= {(state, _E.SUCCESSOR): (_S.EMPTY, _A.RECLAIM) for state in _OCCUPIED}
    if knobs.preempt:
        table |= {(state, _E.OTHER_LOWER): (_S.FILLING, _A.EVICT) for state in _OCCUPIED}
    if knobs.reminder:
        table |= {(state, _E.REMINDER_OWN): (_S.EMPTY, _A.REMIND) for state in _OCCUPIED}
        table |= {(state, _E.REMINDER_OTHER): (state, _A.ANSWER_EMPTY) for state in _S}
    if knobs.free == "early":
        table |= {(state, _E.COMPLETING): (_S.EMPTY, _A.RELEASE) for state in (_S.EMPTY, _S.FILLING)}
        table = {pair: step for pair, step in table.items() if pair[0] is not _S.DONE}
    return Automaton("slot", table, _A.UNFORESEEN, DROP_REASONS)


DROP_REASONS: dict[AggregatorAction, str] = {
    AggregatorAction.DROP_DUPLICATE: "duplicate",
    AggregatorAction.DROP_MISMATCH: "mismatch",
    AggregatorAction.UNFORESEEN: UNFORESEEN,
}
"""`ContributionIgnored.reason`, and the counter of the same name, of every action that keeps a packet out of the
sums"""
