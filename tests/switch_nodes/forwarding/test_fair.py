"""Queues of flows: equal bytes to within a frame, whatever the sizes; and which frames make a flow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.forwarding.fair import FairQueue, flow_of

LONGEST = 1500
_HEAD = bytes(12) + b"\x08\x00" + bytes([0x45]) + bytes(8) + bytes([17]) + bytes(10)


def frame(sport: int, size: int) -> bytes:
    return _HEAD + sport.to_bytes(2, "big") + b"\x12\xb7" + bytes(size - len(_HEAD) - 4)


@given(st.lists(st.lists(st.integers(64, LONGEST), min_size=1, max_size=30), min_size=2, max_size=5))
def test_flows_that_wait_send_the_same_to_within_a_frame(flows):
    queue = FairQueue(LONGEST)
    for sport, own in enumerate(flows):
        for size in own:
            queue.put(frame(sport, size))
    sent, left = [0] * len(flows), [list(own) for own in flows]
    while all(left):
        found = queue.take()
        sport = int.from_bytes(found[34:36], "big")
        assert len(found) == left[sport].pop(0)
        sent[sport] += len(found)
        # Rounds differ by one at most, and a flow lags less than one frame behind its rounds.
        assert max(sent) - min(sent) < 2 * LONGEST


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(64, LONGEST)), max_size=60))
def test_each_frame_leaves_once_and_flows_keep_their_order(frames):
    queue, came = FairQueue(LONGEST), [frame(*each) for each in frames]
    for each in came:
        queue.put(each)
    assert len(queue) == len(came)
    left = [queue.take() for _ in came]
    for sport in range(4):
        assert [each for each in left if each[35] == sport] == [each for each in came if each[35] == sport]
    with pytest.raises(IndexError):
        queue.take()


def test_a_new_flow_waits_for_one_frame_of_each_other():
    queue = FairQueue(LONGEST)
    for _ in range(100):
        queue.put(frame(1, LONGEST))
        queue.put(frame(2, LONGEST))
    queue.put(frame(3, 64))
    assert queue.waiting_with(frame(1, 64)) == 100
    assert queue.waiting_with(frame(4, 64)) == 0
    assert [queue.take()[35] for _ in range(3)] == [1, 2, 3]


def test_flows_are_told_by_addresses_and_ports_or_by_macs():
    one = frame(1, 100)
    assert flow_of(one) != flow_of(frame(2, 100))
    assert flow_of(one) == flow_of(frame(1, 300))
    assert flow_of(bytes(6) + b"\x02" + one[7:12] + b"\x08\x06" + one[14:]) == bytes(6) + b"\x02" + bytes(5)
