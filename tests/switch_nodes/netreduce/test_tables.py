"""The automata are complete where they can be reached, and every action has its handler and every drop its reason."""

from switch_nodes.netreduce import NetReduceProgram
from switch_nodes.netreduce.tables import (
    CONNECTION_TABLE,
    DROP_REASONS,
    FRAME_TABLE,
    LEAF_SLOT_TABLE,
    SLOT_TABLE,
    ConnectionEvent,
    ConnectionState,
    FrameAction,
    FrameKind,
    RingSlotAction,
    RingSlotEvent,
    RingSlotState,
)
from tests.support.netreduce_job import Job

IMPOSSIBLE_SLOT_PAIRS = {
    (RingSlotState.EMPTY, RingSlotEvent.COMPLETING),  # a ring has two members at least
    (RingSlotState.EMPTY, RingSlotEvent.REPEAT),
    (RingSlotState.EMPTY, RingSlotEvent.REPEAT_CHANGED),
    (RingSlotState.EMPTY, RingSlotEvent.REPEAT_ANSWERED),
    (RingSlotState.OPEN, RingSlotEvent.REPEAT_ANSWERED),
    (RingSlotState.DONE, RingSlotEvent.NEW),
    (RingSlotState.DONE, RingSlotEvent.COMPLETING),
}
LEAFS_OWN = {
    RingSlotEvent.REPEAT_BOUNDARY,
    RingSlotEvent.RESULT,
    RingSlotEvent.RESULT_REPEAT,
    RingSlotEvent.RESULT_REPEAT_ANSWERED,
}
IMPOSSIBLE_LEAF_PAIRS = {
    *(
        (state, event)
        for state in (RingSlotState.EMPTY, RingSlotState.OPEN)
        for event in LEAFS_OWN - {RingSlotEvent.RESULT}
    ),
    *((RingSlotState.PARTIAL, event) for event in (RingSlotEvent.RESULT_REPEAT, RingSlotEvent.RESULT_REPEAT_ANSWERED)),
    (RingSlotState.DONE, RingSlotEvent.RESULT),
    (RingSlotState.EMPTY, RingSlotEvent.REPEAT),
    (RingSlotState.EMPTY, RingSlotEvent.REPEAT_CHANGED),
    *((state, RingSlotEvent.REPEAT_ANSWERED) for state in RingSlotState if state is not RingSlotState.DONE),
    *(
        (state, event)
        for state in (RingSlotState.PARTIAL, RingSlotState.DONE)
        for event in (RingSlotEvent.NEW, RingSlotEvent.COMPLETING)
    ),
}
NEEDS_ENTRIES = {
    ConnectionEvent.IN_MESSAGE,
    ConnectionEvent.IN_PLAIN,
    ConnectionEvent.NEXT_MESSAGE,
    ConnectionEvent.MISPLACED,
}


def test_slot_table_is_complete() -> None:
    states = set(RingSlotState) - {RingSlotState.PARTIAL}
    pairs = {(state, event) for state in states for event in set(RingSlotEvent) - LEAFS_OWN}
    assert set(SLOT_TABLE) == pairs - IMPOSSIBLE_SLOT_PAIRS


def test_leaf_slot_table_is_complete() -> None:
    pairs = {(state, event) for state in RingSlotState for event in RingSlotEvent}
    assert set(LEAF_SLOT_TABLE) == pairs - IMPOSSIBLE_LEAF_PAIRS


def test_connection_table_is_complete() -> None:
    pairs = {(state, event) for state in ConnectionState for event in ConnectionEvent}
    entries_missing = {(s, e) for s, e in pairs if s is not ConnectionState.RING and e in NEEDS_ENTRIES}
    assert set(CONNECTION_TABLE) == pairs - entries_missing


def test_frame_table_is_complete() -> None:
    assert set(FRAME_TABLE) == set(FrameKind)


def test_only_a_full_set_completes_and_only_reclaiming_empties() -> None:
    for (before, event), (after, action) in SLOT_TABLE.items():
        assert (after is RingSlotState.EMPTY and before is not RingSlotState.EMPTY) <= (event is RingSlotEvent.RECLAIM)
        assert (after is RingSlotState.DONE and before is not RingSlotState.DONE) == (
            action is RingSlotAction.STORE_AND_COMPLETE
        )


def test_a_leaf_sends_up_only_a_full_rack_and_is_done_only_by_a_value_from_above() -> None:
    for (before, event), (after, action) in LEAF_SLOT_TABLE.items():
        assert (after is RingSlotState.PARTIAL and before is not RingSlotState.PARTIAL) == (
            action is RingSlotAction.STORE_AND_SEND_UP
        )
        assert (after is RingSlotState.DONE and before is not RingSlotState.DONE) == (action is RingSlotAction.ADOPT)
        assert (action is RingSlotAction.SEND_UP_AGAIN) == (event is RingSlotEvent.REPEAT_BOUNDARY)
        assert (after is RingSlotState.EMPTY and before is not RingSlotState.EMPTY) <= (event is RingSlotEvent.RECLAIM)


def test_every_action_of_a_packet_has_a_handler_and_every_drop_a_reason_and_a_counter() -> None:
    assert set(NetReduceProgram(Job().config()).slot_actions.handlers()) == set(RingSlotAction) - {RingSlotAction.CLEAR}
    enters = {RingSlotAction.STORE, RingSlotAction.STORE_AND_COMPLETE, RingSlotAction.REPLAY, RingSlotAction.CLEAR}
    enters |= {
        RingSlotAction.STORE_AND_SEND_UP,
        RingSlotAction.SEND_UP_AGAIN,
        RingSlotAction.ADOPT,
        RingSlotAction.PASS_DOWN,
    }
    passes = {
        FrameAction.BYPASS,
        FrameAction.CONNECTION,
        FrameAction.AGGREGATE,
        FrameAction.INFER,
    }
    assert set(DROP_REASONS) == (set(RingSlotAction) - enters) | (set(FrameAction) - passes)
    assert set(DROP_REASONS.values()) <= set(NetReduceProgram.counter_names)


def test_data_of_a_ring_is_never_bypassed_but_behind_a_plain_first() -> None:
    raw = {event for (_, event), (_, action) in CONNECTION_TABLE.items() if action is FrameAction.BYPASS}
    assert raw == {ConnectionEvent.START_PLAIN, ConnectionEvent.IN_PLAIN, ConnectionEvent.ELSEWHERE}
    assert CONNECTION_TABLE[ConnectionState.RING, ConnectionEvent.ELSEWHERE][1] is FrameAction.DROP_NOFIRST
    assert CONNECTION_TABLE[ConnectionState.UNKNOWN, ConnectionEvent.ELSEWHERE][1] is FrameAction.DROP_NOFIRST
