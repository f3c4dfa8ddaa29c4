"""The compiled loop against the reference: the same records, frames and wires, byte for byte, whatever happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.events import PacketIgnored, ResultReplayed
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.netreduce import FastNetReduceProgram, NetReduceProgram
from testbed.checkers import CheckContext
from testbed.checkers.bit_exact import bit_exact
from testbed.faults.events import FaultMissed, FaultStruck
from testbed.faults.model import Delay, Drop, Duplicate, Loss, Match, Pause, Window
from testbed.history import sort_history
from testbed.history.verdict import Verdict
from testbed.plan import Plan, make_plan
from testbed.scenario import builtin_names, load_scenario
from testbed.scenario.model import BackgroundFlow
from testbed.worlds.simulated.finishing import FinishingMachine
from testbed.worlds.simulated.native import choose_parts
from testbed.worlds.simulated.native.agenda import NativeAgenda
from testbed.worlds.simulated.native.library import Why
from testbed.worlds.simulated.native.nodes import NativeHostNode
from testbed.worlds.simulated.native.wire import NativeWire
from testbed.worlds.simulated.world import Simulation
from tests.support.agendas import agendas
from tests.support.both_loops import counted_returns, outcome, same
from tests.support.native import needs_native
from tests.support.random_plans import draw_plan
from tests.support.selection import some_at_once
from tests.support.simulation import digests, expected_digests, of, rack_links, rack_plan
from topologies import Direction, LinkShape, rack
from workloads.errors import InternalError
from workloads.events import (
    CnpSent,
    FlowReceived,
    MessageAcked,
    MessageReceived,
    RateChanged,
    Retransmission,
)
from workloads.machine import Buffer
from workloads.wire import decode_packet

SCENARIOS = [name for name in builtin_names() if "simulated" in load_scenario(name).worlds]
needs_c = needs_native("simulator")
SLOW = {"rate_bps": 100_000_000, "delay_ns": 1_000_000}
"""a link whose frames are some 90 us long"""


class Listener(NetReduceProgram):
    """A program with all frames that it got and gave in its ears: what a Machine sees must be equal too."""

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self.heard: list[Any] = []

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.heard.append((now, port, bytes(frame)))
        super().receive_frame(port, frame, now)

    def emit(self, port: int, frame: Buffer) -> None:
        self.heard.append((port, bytes(frame)))
        super().emit(port, frame)


@needs_c
@pytest.mark.parametrize("name", some_at_once(SCENARIOS, quick=SCENARIOS[::3]))
def test_built_in_scenarios(name: str) -> None:
    scenario = load_scenario(name)
    job = replace(scenario.job, size_bytes=min(scenario.job.size_bytes, 96_000))
    if job.workload == "digits":
        job = replace(job, iterations=1)
    jobs = tuple(replace(each, model=None, size_bytes=min(each.size_bytes, 20_000)) for each in scenario.jobs[:4])
    same(make_plan(replace(scenario, job=job, jobs=jobs)))


@needs_c
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_plans(first: int) -> None:
    for seed in range(first, first + 10):
        same(draw_plan(seed), tap=seed % 3 == 0)


@needs_c
@pytest.mark.parametrize("first", range(0, 60, 10))
@pytest.mark.parametrize("recovery", ["irn", "irn-held"])
def test_random_plans_with_irn(recovery: str, first: int) -> None:
    for seed in range(first, first + 10):
        drawn = draw_plan(seed).scenario
        transport = replace(drawn.transport, recovery=recovery, verb="write", receive_late_ns=0)
        job = replace(drawn.job, protocol="netreduce") if recovery == "irn-held" else drawn.job
        same(make_plan(replace(drawn, transport=transport, job=job)), tap=seed % 3 == 0)


def test_random_plans_have_what_they_are_for() -> None:
    plans = [draw_plan(seed) for seed in range(60)]
    assert len({type(fault) for plan in plans for fault in plan.scenario.faults}) == 12
    assert {plan.scenario.job.protocol for plan in plans} == {"netreduce", "ring", "shift"}
    assert {plan.scenario.transport.verb for plan in plans} == {"write", "send"}
    assert len({config.program for plan in plans for config in plan.switches}) == 2


@needs_c
@pytest.mark.parametrize("verb", ["write", "send"])
@pytest.mark.parametrize("first_psn", [(1 << 24) - 3, (1 << 24) - 20])
def test_sequence_numbers_wrap_inside_a_message(verb: str, first_psn: int) -> None:
    plan = rack_plan(
        3, job={"size_bytes": 60_000, "message_packets": 32}, transport={"verb": verb, "start_psn": first_psn},
        faults=(Loss("loss", rack_links(3), rate=0.03),),
    )  # fmt: skip
    reference = same(plan)
    assert of(reference["records"], FaultStruck)
    assert digests(reference["records"]) == expected_digests(plan)


RINGS: dict[str, dict[str, Any]] = {
    "two hosts": {"hosts": 2, "job": {"size_bytes": 400_000}},
    "three iterations": {"hosts": 3, "job": {"size_bytes": 90_004, "iterations": 3}},
    "messages of one packet": {"hosts": 8, "job": {"size_bytes": 8 * 800}},
    "chunks of two lengths": {"hosts": 5, "job": {"size_bytes": 5 * 8_000 + 8}},
    "more chunks than elements": {"hosts": 5, "job": {"size_bytes": 12}},
    "integers": {"hosts": 4, "job": {"size_bytes": 100_000, "dtype": "int32"}},
    "every end of the type": {"hosts": 4, "job": {"size_bytes": 100_000, "workload": "special"}},
    "a window that fills": {
        "hosts": 3, "job": {"size_bytes": 3 * 270 * 256},
        "transport": {"path_mtu": 256}, "link": {"delay_ns": 5_000_000},
    },
    "in place": {"hosts": 4, "job": {"size_bytes": 100_000, "in_place": True}},
}  # fmt: skip
"""sizes at which compiled code carries a ring on"""


@needs_c
@pytest.mark.parametrize("loss", [0.0, 0.08])
@pytest.mark.parametrize("name", RINGS)
def test_rings_that_compiled_code_carries_on(name: str, loss: float) -> None:
    plan = ring_plan(RINGS[name], loss)
    records = same(plan, tap=True)["records"]
    assert bit_exact(CheckContext(plan, sort_history(records))).verdict is Verdict.PASS
    assert bool(of(records, FaultStruck)) == bool(loss)


@needs_c
@pytest.mark.parametrize("name", ["a window that fills", "messages of one packet"])
def test_a_message_of_a_ring_needs_no_python(name: str) -> None:
    """Hosts come back at the ends of iterations."""
    plan = ring_plan(RINGS[name], 0.0)
    records: list[Any] = []
    simulation = Simulation(plan, records.append)
    count = counted_returns(simulation)
    simulation.run()
    received = len(of(records, MessageReceived))
    assert received > 90
    assert count[Why.NEWS] < received / 3
    assert not count[Why.ARRIVE]


@needs_c
def test_a_sum_takes_the_place_of_a_partial_one_when_that_is_acknowledged() -> None:
    """Without the ACKs of the partial sums, the message that brings the sum waits."""
    acks = tuple(
        Drop(f"ack {psn}", ("h1-s1",), (Direction.DOWN,), match=Match(frozenset({0x11}), psn_offset=psn))
        for psn in (15, 31)
    )
    plan = ring_plan({"hosts": 2, "job": {"size_bytes": 65_536}, "faults": acks}, 0.0)
    assert len(of(same(plan, tap=True)["records"], FaultStruck)) >= 2


def ring_plan(of_ring: Mapping[str, Any], loss: float) -> Plan:
    hosts = of_ring["hosts"]
    faults = (Loss("loss", rack_links(hosts), rate=loss),) if loss else of_ring.get("faults", ())
    job = {"protocol": "ring", **of_ring["job"]}
    more = {key: of_ring[key] for key in ("transport", "link") if key in of_ring}
    return rack_plan(hosts, job=job, faults=faults, program="forward", **more)


@needs_c
def test_a_host_that_had_frames_to_send_was_held_up_by_its_pause() -> None:
    """Nothing came for it meanwhile, and none of its timers was over."""
    pause = Pause("pause", "h1", Window(2_050_000, 2_900_000))
    records = same(rack_plan(2, faults=(pause,), job={"size_bytes": 20_000}, link=SLOW))["records"]
    assert of(records, FaultStruck)
    assert not of(records, FaultMissed)


@needs_c
@pytest.mark.parametrize("recovery", ["irn", "irn-held"])
def test_a_packet_is_told_as_sent_again_when_it_leaves_again(recovery: str) -> None:
    lossy = Loss("loss", rack_links(3), rate=0.05)
    plan = rack_plan(3, faults=(lossy,), job={"size_bytes": 400_000}, transport={"recovery": recovery}, link=SLOW)
    result = same(plan, tap=True)
    came = [(now, f"h{port + 1}", frame) for now, port, frame, outgoing, *_ in result["taps"]["s1"] if not outgoing]
    again = of(result["records"], Retransmission)
    assert len(again) > 20
    for record in again:
        soon = [frame for now, host, frame in came if host == record.node and 0 < now - record.t < 1_100_000]
        assert record.event.psn in [decode_packet(frame).bth.psn for frame in soon]


@needs_c
@pytest.mark.parametrize("recovery", ["gbn", "irn"])
def test_nearly_everything_is_done_without_python(recovery: str) -> None:
    plan = rack_plan(4, job={"size_bytes": 4 * 43_516 * 2}, transport={"recovery": recovery})
    simulation = Simulation(plan, lambda _: None)
    count = counted_returns(simulation)
    simulation.run()
    assert simulation.packet_hops > 2500
    assert sum(count.values()) < simulation.packet_hops / 20
    assert not count[Why.PULL] + count[Why.SETTLE]


@needs_c
@pytest.mark.parametrize("loss", [0.0, 0.02])
def test_acks_of_a_ring_are_told_later(loss: float) -> None:
    """So Python is needed once for each message, when it came."""
    faults = (Loss("loss", rack_links(4), rate=loss),) if loss else ()
    plan = rack_plan(4, job={"protocol": "ring", "size_bytes": 200_000, "message_packets": 4}, faults=faults)
    records: list[Any] = []
    simulation = Simulation(plan, records.append)
    count = counted_returns(simulation)
    simulation.run()
    acked = of(records, MessageAcked)
    assert len(acked) > 200
    assert count[Why.NEWS] < len(acked) * 1.3
    assert records == outcome(plan, native=False)["records"], "at the same times, in the same order"


@needs_c
def test_a_ring_that_waits_for_its_acks_hears_them_at_once() -> None:
    job = {"protocol": "ring", "size_bytes": 60_000, "message_packets": 4, "pipelined": False}
    same(rack_plan(3, job=job, link=SLOW))


@needs_c
def test_what_a_switch_repeats_is_told_without_coming_back_for_each() -> None:
    plan = rack_plan(
        4, job={"size_bytes": 4 * 43_516 * 2}, faults=(Loss("loss", rack_links(4), rate=0.02),)
    )  # fmt: skip
    records: list[Any] = []
    simulation = Simulation(plan, records.append)
    count = counted_returns(simulation)
    simulation.run()
    repeated = len(of(records, ResultReplayed)) + len(of(records, PacketIgnored))
    assert repeated > 200
    assert count[Why.TELL] < repeated / 10
    assert records == outcome(plan, native=False)["records"], "at the same times, in the same order"


@needs_c
@pytest.mark.parametrize("recovery", ["irn", "go_back_n"])
def test_more_short_messages_on_their_way_than_compiled_code_is_told_of(recovery: str) -> None:
    plan = rack_plan(
        3, link={"rate_bps": 10**10, "delay_ns": 100_000}, transport={"recovery": recovery, "path_mtu": 256},
        job={"size_bytes": 60_000, "message_packets": 1, "window_messages": 100, "protocol": "binomial_tree"},
    )  # fmt: skip
    same(plan)


@needs_c
def test_compiled_code_that_gives_a_host_back_for_ever_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = rack_plan(2, job={"size_bytes": 60_000})
    simulation = Simulation(plan, lambda record: None, native=True)
    monkeypatch.setattr(NativeHostNode, "offer", lambda self: True)
    with pytest.raises(InternalError, match=r"compiled code gave node 0 back 10000 times at \d+ ns"):
        simulation.run()


def other_program(config: SwitchConfig) -> FinishingMachine:
    return Listener(config) if config.program == "netreduce" else ForwardProgram(config)


@needs_c
@pytest.mark.parametrize("protocol", ["netreduce", "ring"])
def test_programs_that_are_not_compiled(protocol: str) -> None:
    faults = (Loss("loss", rack_links(3), rate=0.02), Duplicate("twice", rack_links(3), rate=0.02, delay_ns=1000))
    plan = rack_plan(3, faults=faults, job={"size_bytes": 40_000, "message_packets": 8, "protocol": protocol})
    made: list[FinishingMachine] = []

    def create(config: SwitchConfig) -> FinishingMachine:
        made.append(other_program(config))
        return made[-1]

    same(plan, create=create)
    if protocol == "netreduce":
        compiled, reference = made
        assert isinstance(compiled, Listener)
        assert isinstance(reference, Listener)
        assert compiled.heard == reference.heard
        assert len(compiled.heard) > 200


@needs_c
def test_the_gate_that_only_python_knows() -> None:
    plan = rack_plan(3, faults=(Loss("loss", rack_links(3), rate=0.02),), job={"size_bytes": 40_000})
    gated = replace(plan, switches=tuple(replace(config, gate="epsn") for config in plan.switches))
    assert same(gated)["records"] != same(plan)["records"]


@needs_c
def test_filters_by_verbs() -> None:
    """One fault more than C can hold: every frame of that link is for Python."""
    faults = tuple(Loss(f"loss{n}", ("h1-s1",), rate=0.0002) for n in range(257))
    late = Delay("late", ("h2-s1",), rate=0.5, delay_ns=20_000, jitter_ns=10_000)
    plan = rack_plan(2, faults=(*faults, late), job={"size_bytes": 20_000, "message_packets": 8})
    assert of(same(plan)["records"], FaultStruck)


@needs_c
@pytest.mark.parametrize("protocol", ["netreduce", "ring"])
def test_hosts_with_congestion_control_and_other_tenants(protocol: str) -> None:
    """Their Machines go by the verbs; the switch and the links stay compiled."""
    topology = rack(4, LinkShape(ecn_threshold_packets=5))
    flows = (
        BackgroundFlow("udp-1", "udp", "h4", "h2", 60_000_000, ecn=True),
        BackgroundFlow("udp-2", "udp", "h1", "h3", 30_000_000, start_ns=2_000_000, stop_ns=9_000_000),
    )
    plan = rack_plan(
        4, topology=topology, transport={"congestion_control": "dcqcn", "timeout_code": 15},
        job={"size_bytes": 200_000, "protocol": protocol, "message_packets": 8, "hosts": ("h1", "h2", "h3")},
    )  # fmt: skip
    plan = make_plan(replace(plan.scenario, background=flows))
    assert type(choose_parts(plan).agenda) is NativeAgenda
    records = same(plan, tap=True)["records"]
    assert of(records, CnpSent)
    assert of(records, RateChanged)
    assert {record.event.flow: record.event.packets > 10 for record in of(records, FlowReceived)} == {
        "udp-1": True, "udp-2": True,
    }  # fmt: skip


@needs_c
def test_a_frame_that_no_part_of_the_plan_allows_is_told() -> None:
    _, agenda = agendas(1)
    assert isinstance(agenda, NativeAgenda)
    wire = NativeWire(agenda, 3, LinkShape(mtu=9000))
    with pytest.raises(InternalError, match="longer than any link"):
        wire.send(np.zeros(300, np.uint8).tobytes())


@needs_c
def test_a_host_writes_no_frame_past_the_room_of_one() -> None:
    simulation = Simulation(rack_plan(4), lambda record: None)
    assert isinstance(simulation.agenda, NativeAgenda)
    simulation.agenda.core.stride = 256
    with pytest.raises(InternalError, match=r"^a frame that h\d sends does not fit the 256 bytes of the event loop$"):
        simulation.run()


@needs_c
def test_no_frame_of_a_switch_is_copied_past_the_room_of_one() -> None:
    simulation = Simulation(rack_plan(4), lambda record: None)
    agenda, program = simulation.agenda, simulation.nodes["s1"].machine
    assert isinstance(agenda, NativeAgenda)
    assert isinstance(program, FastNetReduceProgram)
    agenda.at(40_000, 0, lambda _: program.emit(0, bytes(agenda.core.stride + 1)))
    told = f"a frame of {agenda.core.stride + 1} bytes that s1 sends does not fit the {agenda.core.stride} bytes"
    with pytest.raises(InternalError, match=told):
        simulation.run()
