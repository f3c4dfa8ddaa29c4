from __future__ import annotations

import pytest

from workloads.events import MessageReceived
from workloads.machine import FrameBatch, event_record


def test_a_batch_keeps_frames_lengths_and_ports() -> None:
    batch = FrameBatch.of(4, 64)
    batch.append(2, b"\x01" * 60)
    batch.append(0, memoryview(b"\x02\x03"))
    assert (batch.count, batch.capacity, batch.stride) == (2, 4, 64)
    assert [bytes(batch.row(i)) for i in range(2)] == [b"\x01" * 60, b"\x02\x03"]
    assert batch.ports[:2].tolist() == [2, 0]


def test_a_frame_longer_than_a_row_is_refused() -> None:
    with pytest.raises(ValueError, match="different structures"):
        FrameBatch.of(1, 8).append(0, bytes(9))


def test_an_event_becomes_a_flat_record() -> None:
    assert event_record(MessageReceived(3, 7)) == {"event": "MessageReceived", "message": 3, "crc32": 7}


def test_what_most_runs_have_no_use_for_is_told_when_it_says_something() -> None:
    assert event_record(MessageReceived(3, 7, "netreduce"))["phase"] == "netreduce"
    assert "phase" not in event_record(MessageReceived(3, 7, ""))
