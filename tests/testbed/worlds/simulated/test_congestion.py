"""DCQCN over packets in virtual time: who gets how much of a link that all want, and how long its queue grows."""

import itertools
from dataclasses import replace

import pytest

from switch_nodes.netreduce import NetReduceProgram
from switch_nodes.registry import create_program
from testbed.plan import make_plan
from testbed.plan.congestion import scaled_dcqcn
from testbed.scenario import load_scenario
from testbed.scenario.model import DcqcnOptions
from testbed.worlds.simulated import SimulatedWorld
from tests.support.simulation import rack_plan
from tests.support.streams import Streams
from topologies import LinkShape
from workloads.errors import ScenarioError
from workloads.events import CnpSent, RateChanged
from workloads.wire import Bth, Packet, encode_packet

RATE, MTU, THRESHOLD, SECOND = 100_000_000, 4096, 10, 10**9
SHARE = RATE / 2 * MTU / (MTU + 58)
"""half of what headers leave"""


@pytest.fixture(scope="module")
def streams():
    """The same two senders with and without it; one starts later, with a third of the other's window."""

    def run(dcqcn, until):
        shape = LinkShape(rate_bps=RATE, mtu=9000, ecn_threshold_packets=THRESHOLD if dcqcn else None)
        found = Streams(shape, (0, SECOND // 4), dcqcn, MTU, windows=(90, 30))
        found.run(until)
        return found

    config = scaled_dcqcn(DcqcnOptions(), RATE, MTU)
    return {True: run(config, 3 * SECOND), False: run(None, SECOND), "config": config}


def test_two_senders_converge_to_half_of_the_link_each(streams):
    """Within 10 % of each other, as the published control promises for equal flows; without it windows decide."""
    shares = [streams[True].goodput_bps(n, 3 * SECOND // 2, 3 * SECOND) for n in (0, 1)]
    assert shares == [pytest.approx(SHARE, rel=0.1)] * 2
    assert min(shares) > 0.9 * max(shares)
    assert sum(shares) > 0.9 * 2 * SHARE, "and they leave little of it unused"
    unfair = [streams[False].goodput_bps(n, SECOND // 2, SECOND) for n in (0, 1)]
    assert unfair[0] > 2 * unfair[1]


def test_the_queue_stays_far_below_where_windows_alone_let_it_grow(streams):
    with_control, without = streams[True].lengths, streams[False].lengths
    assert max(without) > 90, "both windows stand in the queue"
    assert max(with_control) < max(without) / 3
    assert sum(with_control) / len(with_control) < THRESHOLD


def test_marks_come_first_then_notices_then_slower_senders(streams):
    found, config = streams[True], streams["config"]
    notices = [at for at, event in found.receiver.events if isinstance(event, CnpSent)]
    changes = [(at, event) for sender in found.senders for at, event in sender.events if isinstance(event, RateChanged)]
    cuts = [at for at, event in changes if event.cause == "cnp"]
    assert found.bottleneck.marks >= len(notices) >= len(cuts) > 4
    assert min(notices) < min(cuts)
    assert all(config.min_rate_bps <= event.rate_bps <= config.line_rate_bps for _, event in changes)
    for qpn in (0x200, 0x201):
        own = [at for at, event in found.receiver.events if isinstance(event, CnpSent) and event.qpn == qpn]
        assert min(b - a for a, b in itertools.pairwise(own)) >= config.cnp_interval_ns


def test_tcp_is_refused_before_anything_is_made(tmp_path):
    plan = make_plan(load_scenario("congested-tcp"))
    with pytest.raises(ScenarioError) as caught:
        SimulatedWorld().run(plan, tmp_path, lambda record: None)
    assert str(caught.value) == (
        "scenario: background: TCP runs in the emulated world only; allowed: flows of kind udp, or --world emulated"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("native", [False, True])
def test_notices_pass_an_aggregating_switch_as_they_came(native):
    """Frames of the sum are taken; a CNP of one of its connections goes on, byte for byte."""
    config = rack_plan(3).switches[0]
    program = create_program(config) if native else NetReduceProgram(config)
    ring = rack_plan(3).workers[1].from_predecessor
    notice = encode_packet(Packet(replace(ring.envelope, tos=0xC2), Bth(0x81, ring.peer_qpn, 0, becn=1), bytes(16)))
    program.receive_frame(1, notice, 0)
    assert [(port, bytes(frame)) for port, frame in program.frames_to_send(0)] == [(0, notice)]
