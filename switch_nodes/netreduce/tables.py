"""The automata of the NetReduce switch as tables. The text of the papers has no such table; these are decided here
(`docs/netreduce.md`, "What the switch does with a packet").

Rule 1: what becomes of a packet is decided by these tables alone; the program computes the event and does the action.
Rule 2: a pair that is not in a table needs a peer that breaks the protocol: its packet is dropped (`Automaton`).
        Tests feed every pair of the tables.
"""

from __future__ import annotations

from workloads.automaton import UNFORESEEN, Automaton, Named

__all__ = [
    "CONNECTION_TABLE",
    "DROP_REASONS",
    "FRAME_TABLE",
    "LEAF_SLOT_TABLE",
    "SLOT_TABLE",
    "ConnectionEvent",
    "ConnectionState",
    "FrameAction",
    "FrameKind",
    "RingSlotAction",
    "RingSlotEvent",
    "RingSlotState",
    "SlotTable",
]


class FrameKind(Named):
    """What a frame is before its connection is looked at."""

    OTHER = "not RoCE v2, or RoCE v2 that cannot be read"
    NOT_DATA = "RoCE v2, but no SEND or WRITE of a reliable connection: ACK, NAK, CNP, READ, UD, UC, unknown opcodes"
    FOREIGN = "data, but not from a ring member to its successor"
    WRONG_PORT = "data of a ring edge that came in where its sender is not"
    BAD_ICRC = "data of a ring edge with a wrong iCRC"
    TRIMMED = "the headers of data of a ring edge, which a full queue cut"
    MALFORMED = "data of a ring edge with contradicting lengths"
    DATA = "data of a ring edge"


class FrameAction(Named):
    """What the switch does with a frame."""

    BYPASS = "forward it as a plain switch does"
    DROP_WRONG_PORT = "drop, reason wrong_port"
    DROP_ICRC = "drop, reason icrc"
    DROP_MALFORMED = "drop, reason malformed"
    DROP_INCONSISTENT_FIRST = "drop, reason inconsistent_first"
    DROP_NOFIRST = "drop, reason nofirst"
    UNFORESEEN = "drop, reason unforeseen: a peer breaks the protocol"
    CONNECTION = "ask the connection table"
    AGGREGATE = "give it to its slot"
    INFER = "note the message whose FIRST is missing, then give the packet to its slot"


FRAME_TABLE: dict[FrameKind, FrameAction] = {
    FrameKind.OTHER: FrameAction.BYPASS,
    FrameKind.NOT_DATA: FrameAction.BYPASS,
    FrameKind.FOREIGN: FrameAction.BYPASS,
    FrameKind.WRONG_PORT: FrameAction.DROP_WRONG_PORT,
    FrameKind.BAD_ICRC: FrameAction.DROP_ICRC,  # rule F: else an error is summed and signed with a valid iCRC
    FrameKind.TRIMMED: FrameAction.BYPASS,  # no contribution: its receiver asks its sender for another copy
    FrameKind.MALFORMED: FrameAction.DROP_MALFORMED,
    FrameKind.DATA: FrameAction.CONNECTION,
}


class ConnectionState(Named):
    """What the switch knows of (source IP, destination IP, destination QPN) on a ring edge."""

    UNKNOWN = "no FIRST or ONLY seen"
    PLAIN = "carries messages without INA header"
    RING = "carries INA messages of an installed ring"


class ConnectionEvent(Named):
    """What a data packet is to its connection."""

    START_INA = "FIRST or ONLY with an INA header of an installed ring"
    START_BAD = "as START_INA, but it contradicts the ring or what is known of the message"
    START_PLAIN = "FIRST or ONLY without"
    IN_MESSAGE = "its PSN, or under IRN its RETH, lies in a message of the table"
    IN_PLAIN = "its PSN lies behind a FIRST or ONLY without INA header"
    NEXT_MESSAGE = (
        "its PSN lies in the message right after the newest, and another rank announced the length of that message. "
        "Under IRN: its RETH names a message that is not in the table"
    )
    MISPLACED = "its opcode, or under IRN its RETH, is not the one of its place in the message"
    ELSEWHERE = "none of these"


_C, _E, _A = ConnectionState, ConnectionEvent, FrameAction
_CONNECTION_STEPS: dict[tuple[ConnectionState, ConnectionEvent], tuple[ConnectionState, FrameAction]] = {
    (_C.UNKNOWN, _E.START_INA): (_C.RING, _A.AGGREGATE),
    (_C.UNKNOWN, _E.START_BAD): (_C.UNKNOWN, _A.DROP_INCONSISTENT_FIRST),
    (_C.UNKNOWN, _E.START_PLAIN): (_C.PLAIN, _A.BYPASS),
    # It may be INA data whose hello we never saw (a switch that restarted): passed raw it would be a wrong sum.
    (_C.UNKNOWN, _E.ELSEWHERE): (_C.UNKNOWN, _A.DROP_NOFIRST),
    (_C.PLAIN, _E.START_INA): (_C.RING, _A.AGGREGATE),
    (_C.PLAIN, _E.START_BAD): (_C.PLAIN, _A.DROP_INCONSISTENT_FIRST),
    (_C.PLAIN, _E.START_PLAIN): (_C.PLAIN, _A.BYPASS),
    (_C.PLAIN, _E.ELSEWHERE): (_C.PLAIN, _A.BYPASS),
    (_C.RING, _E.START_INA): (_C.RING, _A.AGGREGATE),
    (_C.RING, _E.START_BAD): (_C.RING, _A.DROP_INCONSISTENT_FIRST),
    (_C.RING, _E.START_PLAIN): (_C.RING, _A.BYPASS),
    (_C.RING, _E.IN_MESSAGE): (_C.RING, _A.AGGREGATE),
    (_C.RING, _E.IN_PLAIN): (_C.RING, _A.BYPASS),
    (_C.RING, _E.NEXT_MESSAGE): (_C.RING, _A.INFER),  # rule B
    (_C.RING, _E.MISPLACED): (_C.RING, _A.DROP_MALFORMED),
    (_C.RING, _E.ELSEWHERE): (_C.RING, _A.DROP_NOFIRST),  # rule C: never forward unaggregated
}


class RingSlotState(Named):
    EMPTY = "no contribution to the message that the slot serves"
    OPEN = "some contributions"
    PARTIAL = "all contributions of a leaf's rack, their sum was sent up; no value yet"
    DONE = "all contributions and the value"


class RingSlotEvent(Named):
    """What a data packet is to its slot; RECLAIM is no packet."""

    DELIVERED = "of a message that its receiver provably has"
    STALE = "of another message before the slot's"
    OVERRUN = "of a message after the slot's: a sender broke its credit"
    WRONG_SIZE = "its length differs from the first contribution's, or from what its place in the message allows"
    NEW = "first contribution of its rank, others are missing"
    COMPLETING = "first contribution of its rank, the last one missing"
    REPEAT = "another copy of its rank's contribution, whose result was not sent on this connection"
    REPEAT_CHANGED = "as REPEAT, but with another payload"
    REPEAT_ANSWERED = "another copy of its rank's contribution, whose result was sent on this connection"
    REPEAT_BOUNDARY = "another copy of a leaf's boundary contribution, whose rack is complete"
    RESULT = "from above: the value, for the first time"
    RESULT_REPEAT = "from above: the value again, that host 0 was not sent"
    RESULT_REPEAT_ANSWERED = "from above: the value again, that host 0 was sent"
    RECLAIM = "a later message completed here: no host needs this one any more"


class RingSlotAction(Named):
    """What is done with the packet; `SlotActions` has a handler for each but CLEAR, which no packet brings about."""

    STORE = "keep it in the slot"
    STORE_AND_COMPLETE = "keep it, sum, and send the results that may leave"
    REFRESH = "keep its header, reason duplicate"
    REPLAY = "keep its header, and send the result under it"
    FORWARD_RAW = "forward it as it is, reason stale_forwarded"
    STORE_AND_SEND_UP = "keep it, sum the rack, and send the sum up"
    SEND_UP_AGAIN = "keep its header, and send the rack's sum up again"
    ADOPT = "keep the value from above, and send the results that may leave"
    PASS_DOWN = "keep its header, and send the result to host 0"
    DROP_UNASKED = "drop, reason unasked"
    DROP_MISMATCH = "drop, reason mismatch: the sender changed what it sent before, and the first copy stands"
    DROP_LENGTH = "drop, reason length"
    DROP_STALE = "drop, reason stale"
    DROP_OVERRUN = "drop, reason overrun"
    UNFORESEEN = "drop, reason unforeseen: a peer breaks the protocol"
    CLEAR = "let the slot serve the message 2N later"


_S, _V, _D = RingSlotState, RingSlotEvent, RingSlotAction
_Steps = dict[tuple[RingSlotState, RingSlotEvent], tuple[RingSlotState, RingSlotAction]]


def _in_any(states: tuple[RingSlotState, ...]) -> _Steps:
    """What does not depend on the state: packets that are not of the slot's message, or do not fit it; and its end."""
    return {
        **{(state, _V.DELIVERED): (state, _D.FORWARD_RAW) for state in states},  # rule E: its receiver re-ACKs
        **{(state, _V.STALE): (state, _D.DROP_STALE) for state in states},
        **{(state, _V.OVERRUN): (state, _D.DROP_OVERRUN) for state in states},
        **{(state, _V.WRONG_SIZE): (state, _D.DROP_LENGTH) for state in states},
        **{(state, _V.RECLAIM): (_S.EMPTY, _D.CLEAR) for state in states},
    }


_SLOT_STEPS: _Steps = {
    **_in_any((_S.EMPTY, _S.OPEN, _S.DONE)),
    (_S.EMPTY, _V.NEW): (_S.OPEN, _D.STORE),
    (_S.OPEN, _V.NEW): (_S.OPEN, _D.STORE),
    (_S.OPEN, _V.COMPLETING): (_S.DONE, _D.STORE_AND_COMPLETE),
    (_S.OPEN, _V.REPEAT): (_S.OPEN, _D.REFRESH),
    (_S.OPEN, _V.REPEAT_CHANGED): (_S.OPEN, _D.DROP_MISMATCH),
    (_S.DONE, _V.REPEAT): (_S.DONE, _D.REFRESH),  # rule A: it waits for its turn
    (_S.DONE, _V.REPEAT_CHANGED): (_S.DONE, _D.DROP_MISMATCH),
    (_S.DONE, _V.REPEAT_ANSWERED): (_S.DONE, _D.REPLAY),
}

_LEAF_SLOT_STEPS: _Steps = {
    **_in_any(tuple(RingSlotState)),
    (_S.EMPTY, _V.NEW): (_S.OPEN, _D.STORE),
    (_S.OPEN, _V.NEW): (_S.OPEN, _D.STORE),
    (_S.EMPTY, _V.COMPLETING): (_S.PARTIAL, _D.STORE_AND_SEND_UP),  # a rack of one host
    (_S.OPEN, _V.COMPLETING): (_S.PARTIAL, _D.STORE_AND_SEND_UP),
    (_S.OPEN, _V.REPEAT): (_S.OPEN, _D.REFRESH),
    (_S.OPEN, _V.REPEAT_CHANGED): (_S.OPEN, _D.DROP_MISMATCH),
    (_S.PARTIAL, _V.REPEAT): (_S.PARTIAL, _D.REFRESH),
    (_S.PARTIAL, _V.REPEAT_CHANGED): (_S.PARTIAL, _D.DROP_MISMATCH),
    # The only trigger: whatever was lost above, the boundary's sender repeats until its receiver answers.
    (_S.PARTIAL, _V.REPEAT_BOUNDARY): (_S.PARTIAL, _D.SEND_UP_AGAIN),
    (_S.PARTIAL, _V.RESULT): (_S.DONE, _D.ADOPT),
    (_S.DONE, _V.REPEAT): (_S.DONE, _D.REFRESH),
    (_S.DONE, _V.REPEAT_CHANGED): (_S.DONE, _D.DROP_MISMATCH),
    (_S.DONE, _V.REPEAT_ANSWERED): (_S.DONE, _D.REPLAY),
    (_S.DONE, _V.REPEAT_BOUNDARY): (_S.DONE, _D.SEND_UP_AGAIN),
    (_S.DONE, _V.RESULT_REPEAT): (_S.DONE, _D.REFRESH),
    (_S.DONE, _V.RESULT_REPEAT_ANSWERED): (_S.DONE, _D.PASS_DOWN),
    # There cannot be a value without this rack: a switch above was restarted, or its packet is wrong.
    (_S.EMPTY, _V.RESULT): (_S.EMPTY, _D.DROP_UNASKED),
    (_S.OPEN, _V.RESULT): (_S.OPEN, _D.DROP_UNASKED),
}

DROP_REASONS: dict[FrameAction | RingSlotAction, str] = {
    FrameAction.DROP_WRONG_PORT: "wrong_port",
    FrameAction.DROP_ICRC: "icrc",
    FrameAction.DROP_MALFORMED: "malformed",
    FrameAction.DROP_INCONSISTENT_FIRST: "inconsistent_first",
    FrameAction.DROP_NOFIRST: "nofirst",
    RingSlotAction.REFRESH: "duplicate",
    RingSlotAction.FORWARD_RAW: "stale_forwarded",
    RingSlotAction.DROP_UNASKED: "unasked",
    RingSlotAction.DROP_MISMATCH: "mismatch",
    RingSlotAction.DROP_LENGTH: "length",
    RingSlotAction.DROP_STALE: "stale",
    RingSlotAction.DROP_OVERRUN: "overrun",
    FrameAction.UNFORESEEN: UNFORESEEN,
    RingSlotAction.UNFORESEEN: UNFORESEEN,
}
"""`PacketIgnored.reason`, and the counter of the same name, of every action that keeps a packet out of the sums"""

CONNECTION_TABLE = Automaton("connection", _CONNECTION_STEPS, _A.UNFORESEEN, DROP_REASONS)
SlotTable = Automaton[RingSlotState, RingSlotEvent, RingSlotAction]
SLOT_TABLE: SlotTable = Automaton("slot", _SLOT_STEPS, _D.UNFORESEEN, DROP_REASONS)
"""table of a rack's only switch, and of a spine"""
LEAF_SLOT_TABLE: SlotTable = Automaton("leaf_slot", _LEAF_SLOT_STEPS, _D.UNFORESEEN, DROP_REASONS)
