"""When an endpoint may be handed to compiled code. What that does with it: tests of the simulator's compiled loop."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import pytest

from testbed.worlds.simulated.native.library import load_core
from tests.support.native import needs_native
from tests.support.rc_pair import ipv6, pair_configs, pattern
from workloads.rc import RcEndpoint, SendRequest
from workloads.rc.answers import Answer
from workloads.rc.compiled import CompiledPair

needs_c = needs_native("rc_fast")
DONE, NO_ROOM = 0, 4
"""`enum rc_endpoint_outcome`"""


def endpoint() -> RcEndpoint:
    config, _ = pair_configs()
    end = RcEndpoint()
    end.add_qp(config)
    end.add_qp(replace(config, qpn=config.qpn + 1))
    return end


@needs_c
def test_what_nobody_touched_comes_back_as_it_was() -> None:
    end = endpoint()
    first, second = end.queue_pairs
    end.post_send(first.config.qpn, SendRequest(1, (pattern(5000, 1),), 7), 0)
    second.responder.answers.extend([Answer(5, 0x1F, 3), Answer(9, 0x60, 4)])
    before = [(CompiledPair(qp).standing(), list(qp.responder.answers), qp.statistics()) for qp in end.queue_pairs]
    held = end.hold()
    assert held is not None
    assert held.offer(None)
    assert held.held
    held.take_back(0)
    assert not held.held
    assert before == [
        (CompiledPair(qp).standing(), list(qp.responder.answers), qp.statistics()) for qp in end.queue_pairs
    ]


@needs_c
def test_only_one_queue_pair_may_have_something_to_send() -> None:
    end = endpoint()
    held = end.hold()
    assert held is not None
    for qp, expected in zip(end.queue_pairs, (True, False), strict=True):
        end.post_send(qp.config.qpn, SendRequest(1, (pattern(100, 1),), 7), 0)
        assert held.offer(None) is expected
        if expected:
            held.take_back(0)


@needs_c
def test_too_many_answers_wait() -> None:
    end = endpoint()
    held = end.hold()
    assert held is not None
    answers = end.queue_pairs[1].responder.answers
    answers.extend([Answer(5, 0x1F, 3)] * 128)
    assert held.offer(None)
    held.take_back(0)
    answers.append(Answer(5, 0x1F, 3))
    end.queue_pairs[1].touch()
    assert not held.offer(None)


def test_ipv6_stays_with_the_reference() -> None:
    end = RcEndpoint()
    end.add_qp(ipv6(pair_configs()[0]))
    assert end.hold() is None


@needs_native("simulator")
@pytest.mark.parametrize("answers", [0, 1])
@pytest.mark.parametrize("size", [1, 1021, 1024, 1025, 4096])
def test_no_frame_is_written_past_its_room(size: int, answers: int) -> None:
    library = load_core()
    assert library is not None
    pull: Any = library.rc_endpoint_pull
    pull.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int64]
    first, reference = endpoint(), endpoint()
    for end in (first, reference):
        qp = end.queue_pairs[0]
        end.post_send(qp.config.qpn, SendRequest(1, (pattern(size, 1),), 7), 0)
        qp.responder.answers.extend([Answer(5, 0x1F, 3)] * answers)
    expected = [bytes(frame) for _, frame in reference.frames_to_send(0)]
    held = first.hold()
    assert held is not None
    assert held.offer(None)
    for frame in expected:
        octets, length = ctypes.create_string_buffer(8192), ctypes.c_int32(0)
        arguments = held.address, octets, len(frame) - 1, ctypes.byref(length), 0
        assert pull(*arguments) == NO_ROOM
        assert octets.raw == bytes(8192)
        assert pull(held.address, octets, len(frame), ctypes.byref(length), 0) == DONE
        assert octets.raw[: length.value] == frame
