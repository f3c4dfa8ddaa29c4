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
    SlotAction,
    SlotEvent,
    SlotState,
)
from tests.support.netreduce_job import Job

IMPOSSIBLE_SLOT_PAIRS = {
    (SlotState.EMPTY, SlotEvent.COMPLETING),  # a ring has two members at least
    (SlotState.EMPTY, SlotEvent.REPEAT),
    (SlotState.EMPTY, SlotEvent.REPEAT_CHANGED),
    (SlotState.EMPTY, SlotEvent.REPEAT_ANSWERED),
    (SlotState.OPEN, SlotEvent.REPEAT_ANSWERED),
    (SlotState.DONE, SlotEvent.NEW),
    (SlotState.DONE, SlotEvent.COMPLETING),
}
LEAFS_OWN = {SlotEvent.REPEAT_BOUNDARY, SlotEvent.RESULT, SlotEvent.RESULT_REPEAT, SlotEvent.RESULT_REPEAT_ANSWERED}
IMPOSSIBLE_LEAF_PAIRS = {
    *((state, event) for state in (SlotState.EMPTY, SlotState.OPEN) for event in LEAFS_OWN - {SlotEvent.RESULT}),
    *((SlotState.PARTIAL, event) for event in (SlotEvent.RESULT_REPEAT, SlotEvent.RESULT_REPEAT_ANSWERED)),
    (SlotState.DONE, SlotEvent.RESULT),
    (SlotState.EMPTY, SlotEvent.REPEAT),
    (SlotState.EMPTY, SlotEvent.REPEAT_CHANGED),
    *((state, SlotEvent.REPEAT_ANSWERED) for state in SlotState if state is not SlotState.DONE),
    *(
        (state, event)
        for state in (SlotState.PARTIAL, SlotState.DONE)
        for event in (SlotEvent.NEW, SlotEvent.COMPLETING)
    ),
}
NEEDS_ENTRIES = {
    ConnectionEvent.IN_MESSAGE,
    ConnectionEvent.IN_PLAIN,
    ConnectionEvent.NEXT_MESSAGE,
    ConnectionEvent.MISPLACED,
}


def test_slot_table_is_complete() -> None:
    states = set(SlotState) - {SlotState.PARTIAL}
    pairs = {(state, event) for state in states for event in set(SlotEvent) - LEAFS_OWN}
    assert set(SLOT_TABLE) == pairs - IMPOSSIBLE_SLOT_PAIRS


def test_leaf_slot_table_is_complete() -> None:
    pairs = {(state, event) for state in SlotState for event in SlotEvent}
    assert set(LEAF_SLOT_TABLE) == pairs - IMPOSSIBLE_LEAF_PAIRS


def test_connection_table_is_complete() -> None:
    pairs = {(state, event) for state in ConnectionState for event in ConnectionEvent}
    entries_missing = {(s, e) for s, e in pairs if s is not ConnectionState.RING and e in NEEDS_ENTRIES}
    assert set(CONNECTION_TABLE) == pairs - entries_missing


def test_frame_table_is_complete() -> None:
    assert set(FRAME_TABLE) == set(FrameKind)


def test_only_a_full_set_completes_and_only_reclaiming_empties() -> None:
    for (before, event), (after, action) in SLOT_TABLE.items():
        assert (after is SlotState.EMPTY and before is not SlotState.EMPTY) <= (event is SlotEvent.RECLAIM)
        assert (after is SlotState.DONE and before is not SlotState.DONE) == (action is SlotAction.STORE_AND_COMPLETE)


def test_a_leaf_sends_up_only_a_full_rack_and_is_done_only_by_a_value_from_above() -> None:
    for (before, event), (after, action) in LEAF_SLOT_TABLE.items():
        assert (after is SlotState.PARTIAL and before is not SlotState.PARTIAL) == (
            action is SlotAction.STORE_AND_SEND_UP
        )
        assert (after is SlotState.DONE and before is not SlotState.DONE) == (action is SlotAction.ADOPT)
        assert (action is SlotAction.SEND_UP_AGAIN) == (event is SlotEvent.REPEAT_BOUNDARY)
        assert (after is SlotState.EMPTY and before is not SlotState.EMPTY) <= (event is SlotEvent.RECLAIM)


def test_every_action_of_a_packet_has_a_handler_and_every_drop_a_reason_and_a_counter() -> None:
    assert set(NetReduceProgram(Job().config()).slot_actions.handlers()) == set(SlotAction) - {SlotAction.CLEAR}
    enters = {SlotAction.STORE, SlotAction.STORE_AND_COMPLETE, SlotAction.REPLAY, SlotAction.CLEAR}
    enters |= {SlotAction.STORE_AND_SEND_UP, SlotAction.SEND_UP_AGAIN, SlotAction.ADOPT, SlotAction.PASS_DOWN}
    passes = {
        FrameAction.BYPASS,
        FrameAction.CONNECTION,
        FrameAction.AGGREGATE,
        FrameAction.INFER,
    }
    assert set(DROP_REASONS) == (set(SlotAction) - enters) | (set(FrameAction) - passes)
    assert set(DROP_REASONS.values()) <= set(NetReduceProgram.counter_names)


def test_data_of_a_ring_is_never_bypassed_but_behind_a_plain_first() -> None:
    raw = {event for (_, event), (_, action) in CONNECTION_TABLE.items() if action is FrameAction.BYPASS}
    assert raw == {ConnectionEvent.START_PLAIN, ConnectionEvent.IN_PLAIN, ConnectionEvent.ELSEWHERE}
    assert CONNECTION_TABLE[ConnectionState.RING, ConnectionEvent.ELSEWHERE][1] is FrameAction.DROP_NOFIRST
    assert CONNECTION_TABLE[ConnectionState.UNKNOWN, ConnectionEvent.ELSEWHERE][1] is FrameAction.DROP_NOFIRST
