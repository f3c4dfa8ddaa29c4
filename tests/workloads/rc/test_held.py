"""When an endpoint may be handed to compiled code. What that does with it: tests of the simulator's compiled loop."""

from __future__ import annotations

from dataclasses import replace

from tests.support.native import needs_native
from tests.support.rc_pair import ipv6, pair_configs, pattern
from workloads.rc import RcEndpoint, SendRequest
from workloads.rc.responder import Answer

needs_c = needs_native("rc_fast")


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
    before = [(qp.requester.standing(), list(qp.responder.answers), qp.statistics()) for qp in end.queue_pairs]
    held = end.hold()
    assert held is not None
    assert held.offer(None)
    assert held.held
    held.take_back(0)
    assert not held.held
    assert before == [(qp.requester.standing(), list(qp.responder.answers), qp.statistics()) for qp in end.queue_pairs]


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
    assert not held.offer(None)


def test_ipv6_stays_with_the_reference() -> None:
    end = RcEndpoint()
    end.add_qp(ipv6(pair_configs()[0]))
    assert end.hold() is None
