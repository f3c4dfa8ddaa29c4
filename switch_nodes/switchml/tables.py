"""The automaton of a SwitchML slot as a table. A slot is one version of one index: the other version is its shadow
copy.

Source: the loss-tolerant algorithm of the public implementation (`p4lang/p4app-switchML`; protocol text, section 2.1),
which is written there as arithmetic on a counter and two bitmaps. The states are ours: FREE is an empty bitmap, FILLING
a counter above 0, DONE a counter that came round. So are STALE, OVERRUN and MISMATCH. The released program cannot
distinguish them from the others, because its packets carry no number. A network that delivers an old copy late makes it
count twice.

Over two tiers, the root follows the same table: its workers are the leaf switches. A leaf has a table of its own: when
its slot is complete it waits for the root's sum before it has an answer.

Rule 1: what becomes of a packet is decided by these tables alone; the program computes the event and does the action.
Rule 2: a pair that is not in the table needs a peer that breaks the protocol: its packet is dropped (`Automaton`).
        Tests feed every pair of the tables.
"""

from __future__ import annotations

from enum import Enum

from workloads.automaton import UNFORESEEN, Automaton

__all__ = ["DROP_REASONS", "LEAF_SLOT_TABLE", "SLOT_TABLE", "PoolSlotAction", "PoolSlotEvent", "PoolSlotState"]


class PoolSlotState(Enum):
    FREE = "every worker has moved on to the other version, or none has come yet"
    FILLING = "some contributions"
    DONE = "all contributions; the sum stays for those that have not got it"
    WAITING = "of a leaf: all contributions of its rack, and no sum of the root"


class PoolSlotEvent(Enum):
    """What a packet is to its slot; MOVED_ON is what it is to the other version of the index."""

    NEW = "its worker's first contribution here, others are missing"
    COMPLETING = "its worker's first contribution here, the last one missing"
    REPEAT = "another copy of a contribution that is inside"
    MISMATCH = "another block than the slot's, or another size"
    OVERRUN = "the other version has no sum yet: its worker went on without a result"
    STALE = "older than what its worker has sent for this index before"
    MOVED_ON = "its worker contributes to the other version: it has this one's sum"
    LAST_MOVED_ON = "as MOVED_ON, and it was the last one"
    SUM = "the root's sum of the slot's block"


class PoolSlotAction(Enum):
    """What the program does with the packet; `SwitchMlProgram` has a handler for each that neither drops the packet nor
    is FORGET."""

    STORE = "add it to the slot"
    STORE_AND_ANSWER = "add it, and send the sum to all"
    REPLAY = "send the sum to its worker again"
    STORE_AND_RAISE = "add it, and send the sum of the rack to the root"
    RAISE = "send the sum of the rack to the root again"
    SPREAD = "keep the root's sum instead of the rack's, and send it to all"
    FORGET = "take its worker out of the other version's bitmap"
    DROP_DUPLICATE = "drop, reason duplicate"
    DROP_MISMATCH = "drop, reason mismatch"
    DROP_OVERRUN = "drop, reason overrun"
    DROP_STALE = "drop, reason stale"
    UNFORESEEN = "drop, reason unforeseen: a peer breaks the protocol"


_S, _E, _A = PoolSlotState, PoolSlotEvent, PoolSlotAction
_STEPS: dict[tuple[PoolSlotState, PoolSlotEvent], tuple[PoolSlotState, PoolSlotAction]] = {
    **{(state, _E.STALE): (state, _A.DROP_STALE) for state in (_S.FREE, _S.FILLING, _S.DONE)},
    (_S.FREE, _E.OVERRUN): (_S.FREE, _A.DROP_OVERRUN),
    (_S.FREE, _E.NEW): (_S.FILLING, _A.STORE),  # the first writer overwrites: there is no clearing pass
    (_S.FREE, _E.COMPLETING): (_S.DONE, _A.STORE_AND_ANSWER),  # a job of one worker
    (_S.FILLING, _E.NEW): (_S.FILLING, _A.STORE),
    (_S.FILLING, _E.COMPLETING): (_S.DONE, _A.STORE_AND_ANSWER),
    (_S.FILLING, _E.REPEAT): (_S.FILLING, _A.DROP_DUPLICATE),
    (_S.FILLING, _E.MISMATCH): (_S.FILLING, _A.DROP_MISMATCH),
    (_S.DONE, _E.REPEAT): (_S.DONE, _A.REPLAY),  # the result was lost on its way
    (_S.DONE, _E.MISMATCH): (_S.DONE, _A.DROP_MISMATCH),
    (_S.DONE, _E.MOVED_ON): (_S.DONE, _A.FORGET),
    (_S.DONE, _E.LAST_MOVED_ON): (_S.FREE, _A.FORGET),
}
_LEAF_STEPS = _STEPS | {
    (_S.FREE, _E.COMPLETING): (_S.WAITING, _A.STORE_AND_RAISE),  # a rack of one worker
    (_S.FILLING, _E.COMPLETING): (_S.WAITING, _A.STORE_AND_RAISE),
    (_S.WAITING, _E.REPEAT): (_S.WAITING, _A.RAISE),  # the rack's sum was lost on its way, or the root's
    (_S.WAITING, _E.SUM): (_S.DONE, _A.SPREAD),
    (_S.WAITING, _E.MISMATCH): (_S.WAITING, _A.DROP_MISMATCH),
    (_S.WAITING, _E.STALE): (_S.WAITING, _A.DROP_STALE),
    (_S.DONE, _E.SUM): (_S.DONE, _A.DROP_DUPLICATE),  # the root answers a repeated sum, too
}
DROP_REASONS: dict[PoolSlotAction, str] = {
    PoolSlotAction.DROP_DUPLICATE: "duplicate",
    PoolSlotAction.DROP_MISMATCH: "mismatch",
    PoolSlotAction.DROP_OVERRUN: "overrun",
    PoolSlotAction.DROP_STALE: "stale",
    PoolSlotAction.UNFORESEEN: UNFORESEEN,
}
"""`ContributionIgnored.reason`, and the counter of the same name, of every action that keeps a packet out of the
sums"""

SLOT_TABLE = Automaton("slot", _STEPS, _A.UNFORESEEN, DROP_REASONS)
"""of a switch that alone sums, and of the root of two tiers"""
LEAF_SLOT_TABLE = Automaton("leaf slot", _LEAF_STEPS, _A.UNFORESEEN, DROP_REASONS)
"""of a switch below a root"""
