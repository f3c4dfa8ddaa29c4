"""The automaton of a slot of program `grid` as a table, for both ways to meet a taken slot.

Source: the data plane of GRID (Fang et al., IEEE/ACM ToN 31(5), 2023, section 5; protocol text, section 1.4). A slot is
empty, or holds some workers' parts of one block. The last part sends the sum and frees the slot. Decided here, since
the paper does not cover losses: bitmaps instead of a count, and RESEND (as ATP's). SUCCESSOR and RESULT free slots that
late copies opened; REFUSED is the capacity.

Rule 1: what becomes of a packet is decided by this table alone; the program computes the event and does the action.
Rule 2: a pair that is not in the table needs a peer that breaks the protocol: its packet is dropped (`Automaton`).
        Tests feed every pair of the table.
"""

from __future__ import annotations

from enum import Enum

from workloads.automaton import UNFORESEEN, Automaton

__all__ = ["DROP_REASONS", "GridSlotAction", "GridSlotEvent", "GridSlotState", "Table", "slot_table"]


class GridSlotState(Enum):
    EMPTY = "serves no block"
    FILLING = "some contributions to its block"


class GridSlotEvent(Enum):
    """What a packet is to the slot that its block's hash names. Its own slot: one that serves its block."""

    number: int
    """its place here, from 0: as compiled code knows it"""

    NEW = "contribution to its own slot, or to an empty one while there are tokens; others are missing"
    COMPLETING = "as NEW, and nothing is missing any more"
    REPEAT = "contribution that is inside its own slot"
    MISMATCH = "another size or tensor than its own slot"
    SUCCESSOR = "the slot serves a block whose sum every worker has"
    OTHER = "the slot serves another block"
    REFUSED = "no tokens when its first packet came, or not aggregated here by the plan: all of the block go around"
    RESEND_OWN = "sent again, to its own slot"
    RESEND_OTHER = "sent again; its slot is empty or serves another block"
    RESULT_OWN = "the server's result of the slot's block"
    RESULT_OTHER = "the server's result of a block whose slot is empty or serves another block"


class GridSlotAction(Enum):
    """What the program does with the packet; `GridProgram` has a handler for each. A result goes on, whatever it
    frees."""

    ADD = "add it to the slot"
    SEND_SUM = "add it, send the sum to the server, and free the slot"
    DROP_DUPLICATE = "drop, reason duplicate"
    DROP_MISMATCH = "drop, reason mismatch"
    UNFORESEEN = "drop, reason unforeseen: a peer breaks the protocol"
    RECLAIM = "free the slot, and judge the packet again"
    TURN_AWAY = "drop, reason collided, and ask its worker to send it again more slowly"
    COLLIDE = "send it to the server, marked as collided"
    BYPASS = "send it to the server as it is: its block goes around"
    FLUSH = "send the server what is inside together with the packet, and free the slot"
    PASS = "send it to the server as it is"
    FREE = "free the slot"
    STAY = "leave the slot as it is"


for _number, _event in enumerate(GridSlotEvent):
    _event.number = _number

Table = dict[tuple[GridSlotState, GridSlotEvent], tuple[GridSlotState, GridSlotAction]]
_S, _E, _A = GridSlotState, GridSlotEvent, GridSlotAction
_COMMON: Table = {
    (_S.EMPTY, _E.NEW): (_S.FILLING, _A.ADD),
    (_S.EMPTY, _E.COMPLETING): (_S.EMPTY, _A.SEND_SUM),  # a node with one worker
    (_S.EMPTY, _E.REFUSED): (_S.EMPTY, _A.BYPASS),
    (_S.EMPTY, _E.RESEND_OTHER): (_S.EMPTY, _A.PASS),  # never opens a slot
    (_S.EMPTY, _E.RESULT_OTHER): (_S.EMPTY, _A.STAY),
    (_S.FILLING, _E.NEW): (_S.FILLING, _A.ADD),
    (_S.FILLING, _E.COMPLETING): (_S.EMPTY, _A.SEND_SUM),
    (_S.FILLING, _E.REPEAT): (_S.FILLING, _A.DROP_DUPLICATE),
    (_S.FILLING, _E.MISMATCH): (_S.FILLING, _A.DROP_MISMATCH),
    (_S.FILLING, _E.SUCCESSOR): (_S.EMPTY, _A.RECLAIM),  # and the packet meets the empty slot
    (_S.FILLING, _E.REFUSED): (_S.FILLING, _A.BYPASS),
    (_S.FILLING, _E.RESEND_OWN): (_S.EMPTY, _A.FLUSH),
    (_S.FILLING, _E.RESEND_OTHER): (_S.FILLING, _A.PASS),
    (_S.FILLING, _E.RESULT_OWN): (_S.EMPTY, _A.FREE),
    (_S.FILLING, _E.RESULT_OTHER): (_S.FILLING, _A.STAY),
}
_OTHER = {"drop": _A.TURN_AWAY, "to_ps": _A.COLLIDE}


def slot_table(on_collision: str) -> Automaton[GridSlotState, GridSlotEvent, GridSlotAction]:
    """`on_collision`: drop, to_ps."""
    steps = {**_COMMON, (_S.FILLING, _E.OTHER): (_S.FILLING, _OTHER[on_collision])}
    return Automaton("slot", steps, _A.UNFORESEEN, DROP_REASONS)


DROP_REASONS: dict[GridSlotAction, str] = {
    GridSlotAction.DROP_DUPLICATE: "duplicate",
    GridSlotAction.DROP_MISMATCH: "mismatch",
    GridSlotAction.TURN_AWAY: "collided",
    GridSlotAction.UNFORESEEN: UNFORESEEN,
}
"""`ContributionIgnored.reason`, and the counter of the same name, of every action that keeps a packet out of the
sums"""
