"""The commodity switch in software: it obeys its rules, compiled or not, and reacts to the carrier of its ports."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from switch_nodes.config import CarrierChange, SwitchConfig
from switch_nodes.events import RulesReplaced, SwitchStatistics
from switch_nodes.forwarding.frame_queue import switch_library
from switch_nodes.registry import create_program
from switch_nodes.steering.fast import FastSteerProgram, SteerStruct, create_steer
from switch_nodes.steering.layout import HostEntry, SteeredEdge, SteeringConfig
from switch_nodes.steering.program import SteerProgram
from tests.support.native import needs_native
from topologies import host_ip, host_mac
from workloads.errors import ScenarioError
from workloads.machine import FrameBatch
from workloads.native.layout import check_structure
from workloads.wire import Bth, Envelope, Opcode, Packet, encode_packet

LIBRARY = switch_library()
needs_library = needs_native("switch_programs")
DSCP, HOSTS, ACCELERATOR = 26, 3, (3, 4)


def config_of(*carrier: CarrierChange) -> SwitchConfig:
    """h1..h3 on ports 0..2, the accelerator on ports 3 and 4; h9 behind two equal ports, 5 and 6."""
    hosts = tuple(HostEntry(f"h{n + 1}", host_mac(n + 1), (n,)) for n in range(HOSTS))
    edges = tuple(
        SteeredEdge(f"e{n}", host_ip(n + 1), host_ip((n + 1) % HOSTS + 1), (n,), ACCELERATOR[n % 2])
        for n in range(HOSTS)
    )
    steering = SteeringConfig((*hosts, HostEntry("h9", host_mac(9), (5, 6))), edges, ACCELERATOR, DSCP)
    return SwitchConfig("s1", "steer", 7, flood_ports=(0, 1, 2, 5), flow_salt=77, steering=steering, carrier=carrier)


def roce(
    source: int, destination: int, *, dscp: int = DSCP, opcode: Opcode = Opcode.SEND_ONLY, sport: int = 50000
) -> bytes:
    """Between hosts, by their numbers."""
    envelope = Envelope(
        host_mac(source), host_mac(destination), host_ip(source), host_ip(destination), sport, tos=dscp << 2 | 2
    )
    return encode_packet(Packet(envelope, Bth(opcode, 7, 1), payload=bytes(64)))


def sent(program: SteerProgram, port: int, frame: bytes) -> list[int]:
    program.receive_frame(port, frame, 0)
    out = list(program.frames_to_send(0))
    assert all(bytes(one) == frame for _, one in out)
    return [to for to, _ in out]


def news(program: SteerProgram) -> Iterator[RulesReplaced]:
    while (event := program.next_event()) is not None:
        assert isinstance(event, RulesReplaced)
        yield event


@pytest.fixture(params=["python", pytest.param("compiled", marks=needs_library)])
def program(request: pytest.FixtureRequest) -> SteerProgram:
    if request.param == "python":
        return SteerProgram(config_of())
    assert LIBRARY is not None
    return FastSteerProgram(config_of(), LIBRARY)


def test_data_goes_to_the_accelerator_and_comes_back_to_its_host(program: SteerProgram) -> None:
    assert sent(program, 0, roce(1, 2)) == [3]
    assert sent(program, 3, roce(1, 2)) == [1]
    assert sent(program, 4, roce(1, 2)) == [1]
    assert sent(program, 1, roce(2, 3)) == [4]


def test_other_traffic_between_the_same_hosts_passes_by(program: SteerProgram) -> None:
    assert sent(program, 0, roce(1, 2, dscp=0)) == [1]
    assert sent(program, 1, roce(2, 1)) == [0]
    assert sent(program, 0, host_mac(2) + host_mac(1) + b"\x08\x06" + bytes(46)) == [1]


def test_floods_keep_to_the_tree(program: SteerProgram) -> None:
    broadcast = b"\xff" * 6 + host_mac(1) + b"\x08\x06" + bytes(46)
    assert sent(program, 0, broadcast) == [1, 2, 5]
    assert sent(program, 3, broadcast) == []
    assert sent(program, 0, bytes.fromhex("0180c2000000") + broadcast[6:]) == []
    assert sent(program, 0, b"short") == []


def test_equal_ports_are_taken_by_flow(program: SteerProgram) -> None:
    ports = [sent(program, 0, roce(1, 9, sport=49152 + flow)) for flow in range(32)]
    assert {tuple(port) for port in ports} == {(5,), (6,)}
    assert ports == [sent(program, 0, roce(1, 9, sport=49152 + flow)) for flow in range(32)]


def test_a_dead_accelerator_port_withholds_the_jobs_data_until_it_is_back(program: SteerProgram) -> None:
    list(news(program))
    program.set_down(frozenset({4}), "port 4 is down")
    assert sent(program, 0, roce(1, 2)) == []
    assert sent(program, 0, roce(1, 2, dscp=0)) == [1]
    assert sent(program, 3, roce(1, 2)) == [1]  # a result that had been on its way
    program.set_down(frozenset(), "port 4 is up")
    assert sent(program, 0, roce(1, 2)) == [3]
    told = list(news(program))
    assert [(event.reason, event.down, event.fallback) for event in told] == [
        ("port 4 is down", (4,), True), ("port 4 is up", (), False),
    ]  # fmt: skip
    assert program.counters["withheld"] == 1


def test_carrier_changes_act_at_their_time() -> None:
    program = SteerProgram(
        config_of(CarrierChange(50, 3, True), CarrierChange(20, 3, False), CarrierChange(20, 1, False))
    )
    assert [event.reason for event in news(program)] == ["start"]
    assert program.get_timer() == 20
    program.handle_timer(19)
    assert sent(program, 0, roce(1, 2)) == [3]
    program.handle_timer(20)
    assert sent(program, 0, roce(1, 2)) == []
    assert sent(program, 0, roce(1, 2, dscp=0)) == []
    assert sent(program, 0, b"\xff" * 6 + roce(1, 2, dscp=0)[6:]) == [2, 5]
    assert program.get_timer() == 50
    program.handle_timer(70)
    assert program.get_timer() is None
    assert [(event.reason, event.down, event.fallback) for event in news(program)] == [
        ("port 3 is down", (3,), True), ("port 1 is down", (1, 3), True), ("port 3 is up", (1,), False),
    ]  # fmt: skip


def test_late_timers_act_on_all_that_is_due() -> None:
    program = SteerProgram(config_of(CarrierChange(20, 3, False), CarrierChange(50, 3, True)))
    program.handle_timer(1000)
    assert sent(program, 0, roce(1, 2)) == [3]


def random_frame(draw: random.Random) -> bytes:
    kind = draw.random()
    frame = bytearray(roce(draw.choice((1, 2, 3, 9)), draw.choice((1, 2, 3, 9, 8)),
        dscp=draw.choice((DSCP, DSCP, 0, 48)),
                           sport=draw.randrange(49152, 65536)))  # fmt: skip
    if kind < 0.05:
        return bytes(frame[: draw.randrange(60)])
    if kind < 0.1:
        frame[20:22] = draw.choice((b"\x20\x00", b"\x00\x09", b"\x40\x00"))  # fragments
    elif kind < 0.15:
        frame[14] = draw.choice((0x46, 0x65, 0x4F))
    elif kind < 0.2:
        frame[23] = draw.choice((6, 1))
    elif kind < 0.25:
        frame[36:38] = draw.randbytes(2)
    elif kind < 0.3:
        frame[12:14] = b"\x86\xdd"
    elif kind < 0.4:
        frame[:6] = draw.choice((b"\xff" * 6, b"\x02other", bytes.fromhex("0180c2000003")))
    return bytes(frame)


@needs_library
@pytest.mark.parametrize("down", [frozenset(), frozenset({3}), frozenset({1, 5}), frozenset({5, 6})])
def test_compiled_and_reference_agree_on_random_frames(down: frozenset[int]) -> None:
    assert LIBRARY is not None
    draw = random.Random(len(down))
    reference, fast = SteerProgram(config_of()), FastSteerProgram(config_of(), LIBRARY)
    for program in (reference, fast):
        program.set_down(down, "test")
    for _ in range(40):
        batch, out = FrameBatch.of(64, 300), FrameBatch.of(400, 300)
        for _ in range(64):
            batch.append(draw.randrange(7), random_frame(draw))
            reference.receive_frame(int(batch.ports[batch.count - 1]), batch.row(batch.count - 1), 0)
        fast.receive_batch(batch, 0)
        fast.fill_batch(out, 0)
        got = [(int(out.ports[row]), bytes(out.row(row))) for row in range(out.count)]
        assert got == [(port, bytes(frame)) for port, frame in reference.frames_to_send(0)]
    assert fast.counters == reference.counters
    assert all(fast.counters[name] for name in ("forwarded", "flooded", "filtered", "runt"))
    assert bool(fast.counters["steered"]) != (3 in down)
    assert bool(fast.counters["withheld"]) == (3 in down)


@needs_library
def test_the_jobs_data_takes_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LIBRARY is not None
    check_structure(LIBRARY, "steer_table", SteerStruct)
    fast = FastSteerProgram(config_of(), LIBRARY)
    monkeypatch.setattr(fast, "receive_frame", None)
    batch = FrameBatch.of(64, 300)
    for number in range(64):
        batch.append(0 if number % 2 else 3, roce(1, 2))
    fast.receive_batch(batch, 0)
    assert [port for port, _ in fast.frames_to_send(0)] == [1, 3] * 32


def test_which_program_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(create_program(config_of()), SteerProgram)
    monkeypatch.setenv("INA_NATIVE", "0")
    program = create_steer(config_of())
    assert type(program) is SteerProgram
    program.finish(0)
    list_of = [event for event in iter(program.next_event, None) if isinstance(event, SwitchStatistics)]
    assert set(list_of[0].counters) == set(SteerProgram.counter_names)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"steering": None}, "switch s1: program steer has nothing to make rules from"),
        ({"ports": 4}, "switch s1: a rule names a port that does not exist"),
        ({"carrier": (CarrierChange(0, 9, False),)}, "switch s1: a rule names a port that does not exist"),
    ],
)  # fmt: skip
def test_what_cannot_be_installed_is_refused(change: dict[str, object], problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        SteerProgram(replace(config_of(), **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("edge", "problem"),
    [
        (SteeredEdge("e0", host_ip(1), host_ip(2), (0,), 1), "edge e0 is led to a port without accelerator"),
        (SteeredEdge("e0", host_ip(1), host_ip(2), (3,), 4), "edge e0 is led to the accelerator that it comes from"),
    ],
)
def test_an_edge_leads_from_a_host_to_the_accelerator(edge: SteeredEdge, problem: str) -> None:
    config = config_of()
    assert config.steering is not None
    with pytest.raises(ScenarioError, match=problem):
        SteerProgram(replace(config, steering=replace(config.steering, edges=(edge,))))
