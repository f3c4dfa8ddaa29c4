"""What a repair switch does with a packet: a table of the slot's state and the event that the packet is to it.

A slot serves one block at a time; a newer block takes it over. There is no shadow copy as in SwitchML. Donors wait for
an acknowledgement without contents, and a slot that serves a newer block proves it.

Rule 1: what becomes of a packet is decided by this table alone; the program computes the event and does the action.
Rule 2: a pair that is not in the table needs a peer that breaks the protocol: its packet is dropped (`Automaton`).
        Tests feed every pair of the table.
"""

from __future__ import annotations

from enum import Enum

from workloads.automaton import UNFORESEEN, Automaton

__all__ = ["DROP_REASONS", "SLOT_TABLE", "RepairSlotAction", "RepairSlotEvent", "RepairSlotState"]


class RepairSlotState(Enum):
    FREE = "no block yet"
    FILLING = "some contributions"
    SENT = "all contributions; their sum left, towards the newcomer"
    DONE = "the newcomer has the block"


class RepairSlotEvent(Enum):
    """What a packet is to its slot. It is of the slot's block, unless it says otherwise."""

    NEW = "a contribution that is not inside, others are missing; or the first of a newer block"
    COMPLETING = "the same, and the last one missing"
    REPEAT = "another copy of a contribution that is inside"
    REPEAT_FIRST = "the same, of the lowest ranks at this switch"
    MISMATCH = "a contribution of another size"
    OVERRUN = "of a newer block, although this one is not complete"
    STALE = "a contribution, or a question, of an older block"
    QUESTION = "a switch below asks whether the newcomer has the block"
    QUESTION_NEWER = "the same of a newer block"
    ACK = "the newcomer has the block"
    ACK_OTHER = "the newcomer has another block"


class RepairSlotAction(Enum):
    """What the program does with the packet; `RepairProgram` has a handler for each that does not drop it."""

    STORE = "add it to the slot"
    STORE_AND_SEND = "add it, and send the sum up"
    SEND_AGAIN = "send the sum up again"
    ASK = "send a question up"
    ANSWER = "send an acknowledgement back to where it came from"
    SPREAD = "send the acknowledgement on to all below"
    DROP_DUPLICATE = "drop, reason duplicate"
    DROP_MISMATCH = "drop, reason mismatch"
    DROP_OVERRUN = "drop, reason overrun"
    DROP_LATE = "drop, reason late_ack"
    UNFORESEEN = "drop, reason unforeseen: a peer breaks the protocol"


_S, _E, _A = RepairSlotState, RepairSlotEvent, RepairSlotAction
_OPENS: dict[tuple[RepairSlotState, RepairSlotEvent], tuple[RepairSlotState, RepairSlotAction]] = {
    (state, event): step
    for state in (_S.FREE, _S.SENT, _S.DONE)
    for event, step in (
        (_E.NEW, (_S.FILLING, _A.STORE)),  # the first one overwrites: there is no clearing pass
        (_E.COMPLETING, (_S.SENT, _A.STORE_AND_SEND)),
    )
}
_STEPS: dict[tuple[RepairSlotState, RepairSlotEvent], tuple[RepairSlotState, RepairSlotAction]] = {
    **_OPENS,
    **{(state, _E.STALE): (state, _A.ANSWER) for state in RepairSlotState if state is not _S.FREE},
    **{(state, _E.ACK_OTHER): (state, _A.DROP_LATE) for state in RepairSlotState},
    **{(state, _E.MISMATCH): (state, _A.DROP_MISMATCH) for state in RepairSlotState if state is not _S.FREE},
    **{(state, _E.QUESTION_NEWER): (state, _A.ASK) for state in RepairSlotState},
    (_S.FILLING, _E.NEW): (_S.FILLING, _A.STORE),
    (_S.FILLING, _E.COMPLETING): (_S.SENT, _A.STORE_AND_SEND),
    # A restarted switch lacks symbols that others need not resend: the newcomer may have the block.
    (_S.FILLING, _E.REPEAT): (_S.FILLING, _A.ASK),
    (_S.FILLING, _E.REPEAT_FIRST): (_S.FILLING, _A.ASK),
    (_S.FILLING, _E.QUESTION): (_S.FILLING, _A.ASK),
    (_S.FILLING, _E.OVERRUN): (_S.FILLING, _A.DROP_OVERRUN),
    (_S.FILLING, _E.ACK): (_S.DONE, _A.SPREAD),
    (_S.SENT, _E.REPEAT): (_S.SENT, _A.DROP_DUPLICATE),  # one of those below is enough to ask for it again
    (_S.SENT, _E.REPEAT_FIRST): (_S.SENT, _A.SEND_AGAIN),
    (_S.SENT, _E.QUESTION): (_S.SENT, _A.ASK),
    (_S.SENT, _E.ACK): (_S.DONE, _A.SPREAD),
    (_S.DONE, _E.REPEAT): (_S.DONE, _A.ANSWER),  # its acknowledgement was lost
    (_S.DONE, _E.REPEAT_FIRST): (_S.DONE, _A.ANSWER),
    (_S.DONE, _E.QUESTION): (_S.DONE, _A.ANSWER),
    (_S.DONE, _E.ACK): (_S.DONE, _A.DROP_LATE),
}
DROP_REASONS: dict[RepairSlotAction, str] = {
    RepairSlotAction.DROP_DUPLICATE: "duplicate",
    RepairSlotAction.DROP_MISMATCH: "mismatch",
    RepairSlotAction.DROP_OVERRUN: "overrun",
    RepairSlotAction.DROP_LATE: "late_ack",
    RepairSlotAction.UNFORESEEN: UNFORESEEN,
}
"""`ContributionIgnored.reason`, and the counter of the same name, of every action that drops the packet"""

SLOT_TABLE = Automaton("slot", _STEPS, _A.UNFORESEEN, DROP_REASONS)
