"""What a parameter server does with one block of a job, as a table.

Source: the merging rules of ATP's parameter server (`in-ATP/ATP`; protocol text, section 3.4). Whole packets overwrite,
and disjoint ones are added. Overlapping ones are discarded because a sum cannot be taken apart. Every missing worker
asks by a RESEND of its own, which never allocates and so arrives alone in the end. Reminders and NACKs are of our ESA
(section 4.3).

Decided here: the server keeps the packets of an open block. A packet with more workers replaces those packets that have
no worker which it lacks (WIDER). A RESEND may take another worker's part along from a switch. Without this rule both
were discarded, and the server had to ask for that part. This cost 14 % of the job of `strategy-esa` at 100 Gb/s.

Rule 1: what becomes of a packet is decided by this table alone; the server computes the event and does the action.
Rule 2: a pair that is not in the table needs a peer that breaks the protocol. Its packet is dropped (`Automaton`).
        Tests feed every pair of the table.
"""

from __future__ import annotations

from enum import Enum

from workloads.automaton import UNFORESEEN, Automaton

__all__ = ["BLOCK_TABLE", "DROP_REASONS", "BlockAction", "BlockEvent", "BlockState"]


class BlockState(Enum):
    number: int
    """its place here, from 0, as in compiled code"""

    UNKNOWN = "nothing came of it in this life of the server"
    OPEN = "some workers are inside its sum"
    DONE = "the sum is complete, and kept for those that have not got it"
    LOST = "a worker has neither its part nor the sum any more"
    GONE = "two windows old: every worker has its sum"


class BlockEvent(Enum):
    """What a packet, or the time, is to its block."""

    number: int
    """number, as of BlockState"""

    NEW = "workers that are not inside yet; others are still missing"
    COMPLETING = "workers that are not inside yet, the last ones missing"
    WHOLE = "all workers at once"
    WIDER = "more workers than in the packets that it overlaps, and all of theirs; others are still missing"
    WIDER_COMPLETING = "as WIDER, and no other worker is missing"
    OVERLAP = "some of its workers are inside already"
    MISMATCH = "another size or tensor than what is inside"
    OVERRUN = "the block one window before is not complete: its sender went on without a result"
    COPY = "a result that a switch completed and sent itself"
    ASKED = "a RESEND, or all workers again: one of them does not have the sum"
    STRAY = "a copy of what is inside, with which no worker asks"
    DUE = "open for too long, or left behind by three others"
    NOTHING_THERE = "a switch holds nothing of it"
    REFUSED = "a worker that was asked for it has nothing of it"


class BlockAction(Enum):
    """What the server does; `JobServer` has a handler for each but plain drops."""

    STORE = "begin the sum with it"
    ADD = "add it"
    ADD_AND_SEND = "add it, and send the sum to all"
    SWAP = "add it in place of the packets that it overlaps"
    SWAP_AND_SEND = "add it in place of the packets that it overlaps, and send the sum to all"
    REPLACE_AND_SEND = "take it for the sum, and send it to all"
    KEEP = "take it for the sum, which everybody was sent"
    REPLAY = "send the sum to who asks"
    REMIND = "ask the switch, or the workers that are missing"
    ASK_MISSING = "ask the workers that are missing"
    GIVE_UP = "forget the block, and tell who waits that it is lost"
    TELL_LOST = "tell who asks that it is lost"
    TELL_GONE = "tell who asks that it is not kept any more"
    PASS = "do nothing"
    DROP_OVERLAP = "drop, reason overlap"
    DROP_MISMATCH = "drop, reason mismatch"
    DROP_OVERRUN = "drop, reason overrun"
    DROP_DUPLICATE = "drop, reason duplicate"
    DROP_STALE = "drop, reason stale"
    UNFORESEEN = "drop, reason unforeseen: a peer breaks the protocol"


for _number, _state in enumerate(BlockState):
    _state.number = _number
for _number, _event in enumerate(BlockEvent):
    _event.number = _number
_S, _E, _A = BlockState, BlockEvent, BlockAction
_STEPS: dict[tuple[BlockState, BlockEvent], tuple[BlockState, BlockAction]] = {
    (_S.UNKNOWN, _E.NEW): (_S.OPEN, _A.STORE),
    (_S.UNKNOWN, _E.WHOLE): (_S.DONE, _A.REPLACE_AND_SEND),
    (_S.UNKNOWN, _E.COPY): (_S.DONE, _A.KEEP),
    (_S.UNKNOWN, _E.OVERRUN): (_S.UNKNOWN, _A.DROP_OVERRUN),
    (_S.UNKNOWN, _E.NOTHING_THERE): (_S.UNKNOWN, _A.PASS),
    (_S.UNKNOWN, _E.REFUSED): (_S.UNKNOWN, _A.PASS),
    (_S.OPEN, _E.NEW): (_S.OPEN, _A.ADD),
    (_S.OPEN, _E.COMPLETING): (_S.DONE, _A.ADD_AND_SEND),
    (_S.OPEN, _E.WHOLE): (_S.DONE, _A.REPLACE_AND_SEND),
    (_S.OPEN, _E.COPY): (_S.DONE, _A.KEEP),
    (_S.OPEN, _E.WIDER): (_S.OPEN, _A.SWAP),
    (_S.OPEN, _E.WIDER_COMPLETING): (_S.DONE, _A.SWAP_AND_SEND),
    (_S.OPEN, _E.OVERLAP): (_S.OPEN, _A.DROP_OVERLAP),
    (_S.OPEN, _E.MISMATCH): (_S.OPEN, _A.DROP_MISMATCH),
    (_S.OPEN, _E.DUE): (_S.OPEN, _A.REMIND),
    (_S.OPEN, _E.NOTHING_THERE): (_S.OPEN, _A.ASK_MISSING),
    (_S.OPEN, _E.REFUSED): (_S.LOST, _A.GIVE_UP),
    (_S.DONE, _E.ASKED): (_S.DONE, _A.REPLAY),  # the result was lost on its way
    (_S.DONE, _E.STRAY): (_S.DONE, _A.DROP_DUPLICATE),
    (_S.DONE, _E.COPY): (_S.DONE, _A.PASS),
    (_S.DONE, _E.NOTHING_THERE): (_S.DONE, _A.PASS),
    (_S.DONE, _E.REFUSED): (_S.DONE, _A.PASS),
    (_S.LOST, _E.WHOLE): (_S.DONE, _A.REPLACE_AND_SEND),  # somebody has the sum after all
    (_S.LOST, _E.COPY): (_S.DONE, _A.KEEP),
    (_S.LOST, _E.ASKED): (_S.LOST, _A.TELL_LOST),
    (_S.LOST, _E.STRAY): (_S.LOST, _A.DROP_DUPLICATE),
    (_S.LOST, _E.NOTHING_THERE): (_S.LOST, _A.PASS),
    (_S.LOST, _E.REFUSED): (_S.LOST, _A.PASS),
    (_S.GONE, _E.ASKED): (
        _S.GONE,
        _A.TELL_GONE,
    ),  # a restarted worker asked, or a late copy: no other worker waits for it
    (_S.GONE, _E.STRAY): (_S.GONE, _A.DROP_STALE),
    (_S.GONE, _E.COPY): (_S.GONE, _A.PASS),
    (_S.GONE, _E.NOTHING_THERE): (_S.GONE, _A.PASS),
    (_S.GONE, _E.REFUSED): (_S.GONE, _A.PASS),
}
DROP_REASONS: dict[BlockAction, str] = {
    BlockAction.DROP_OVERLAP: "overlap",
    BlockAction.DROP_MISMATCH: "mismatch",
    BlockAction.DROP_OVERRUN: "overrun",
    BlockAction.DROP_DUPLICATE: "duplicate",
    BlockAction.DROP_STALE: "stale",
    BlockAction.UNFORESEEN: UNFORESEEN,
}
"""`ContributionIgnored.reason` of every action that keeps a packet out of the sums"""

BLOCK_TABLE = Automaton("block", _STEPS, _A.UNFORESEEN, DROP_REASONS)
