"""The plain switch by its batch verbs: the same frames in the same order as the reference."""

from __future__ import annotations

import random

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.forwarding.fast import FastForwardProgram, create_forward
from switch_nodes.forwarding.frame_queue import FrameQueue, switch_library
from tests.support.native import needs_native
from workloads.machine import BatchMachine, FrameBatch

LIBRARY = switch_library()
pytestmark = needs_native("switch_programs")


@pytest.mark.parametrize("hosts", [0, 1, 3, 32, 200])
def test_random_frames(hosts: int) -> None:
    assert LIBRARY is not None
    draw = random.Random(hosts)
    macs = [bytes((2, *draw.randbytes(5))) for _ in range(hosts)]
    others = [b"\xff" * 6, b"\x02other", b"\x01group", bytes.fromhex("0180c2000001"), bytes(6)]
    ports = max(hosts, 4)
    config = SwitchConfig("s1", "forward", ports, tuple((mac, port) for port, mac in enumerate(macs)))
    reference, fast = ForwardProgram(config), FastForwardProgram(config, LIBRARY)
    assert isinstance(fast, BatchMachine)
    out = FrameBatch.of(7, 200)
    for _ in range(60):
        batch = FrameBatch.of(64, 200)
        for _ in range(draw.randrange(64)):
            two = [draw.choice(macs or others) if draw.random() < 0.9 else draw.choice(others) for _ in range(2)]
            frame = (b"".join(two) + draw.randbytes(draw.randrange(180)))[(draw.random() < 0.02 and 8) or 0 :]
            port = draw.randrange(ports)
            batch.append(port, frame)
            reference.receive_frame(port, frame, 0)
        fast.receive_batch(batch, 0)
        batch.frames[:] = 0
        got = []
        while True:
            out.count = 0
            fast.fill_batch(out, 0)
            got += [(int(out.ports[row]), bytes(out.row(row))) for row in range(out.count)]
            if not out.count:
                break
        assert got == [(port, bytes(frame)) for port, frame in reference.frames_to_send(0)]
    assert fast.counters == reference.counters


def ip_frame(draw: random.Random) -> bytes:
    """Ethertype and what follows: IPv4 with options, fragments, protocols with and without ports, cut anywhere; IPv6;
    noise."""
    words = draw.choice((5, 5, 5, 6, 15, 3))
    head = bytearray(draw.randbytes(4 * max(words, 5)))
    head[0] = draw.choice((4, 4, 4, 5)) << 4 | words
    head[6:8] = draw.choice((bytes(2), b"\x40\0", b"\x20\0", b"\0\x09"))
    head[9] = draw.choice((6, 17, 17, 1))
    packet = draw.choice((b"\x08\0", b"\x08\0", b"\x08\0", b"\x86\xdd", b"\x08\6")) + bytes(head) + draw.randbytes(40)
    return packet[: draw.randrange(2, len(packet))] if draw.random() < 0.2 else packet


@pytest.mark.parametrize("spray", [False, True])
@pytest.mark.parametrize("salt", [0, 0xDEADBEEF, (1 << 64) - 1])
def test_groups(salt: int, spray: bool) -> None:
    assert LIBRARY is not None
    draw = random.Random(salt)
    macs = [bytes((2, *draw.randbytes(5))) for _ in range(24)]
    groups = tuple((mac, tuple(draw.sample(range(8), draw.randrange(1, 6)))) for mac in macs[:16])
    static = tuple((mac, draw.randrange(8)) for mac in macs[16:])
    config = SwitchConfig(
        "s1", "forward", 8, static, groups=groups, flow_salt=salt, flood_ports=(0, 1, 2, 5), spray=spray
    )
    reference, fast = ForwardProgram(config), FastForwardProgram(config, LIBRARY)
    for _ in range(40):
        batch, out = FrameBatch.of(64, 200), FrameBatch.of(400, 200)
        for _ in range(64):
            two = [draw.choice(macs) if draw.random() < 0.95 else draw.randbytes(6) for _ in range(2)]
            batch.append(draw.randrange(8), b"".join(two) + ip_frame(draw))
            reference.receive_frame(int(batch.ports[batch.count - 1]), batch.row(batch.count - 1), 0)
        fast.receive_batch(batch, 0)
        fast.fill_batch(out, 0)
        got = [(int(out.ports[row]), bytes(out.row(row))) for row in range(out.count)]
        assert got == [(port, bytes(frame)) for port, frame in reference.frames_to_send(0)]
    assert fast.counters == reference.counters


@pytest.mark.parametrize("spray", [False, True])
def test_flows_of_ipv4_take_no_python(spray: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LIBRARY is not None
    a, b = b"\2host1", b"\2host2"
    fast = FastForwardProgram(SwitchConfig("s1", "forward", 3, ((a, 0),), groups=((b, (1, 2)),), spray=spray), LIBRARY)
    monkeypatch.setattr(fast, "receive_frame", None)
    batch = FrameBatch.of(64, 200)
    for _ in range(64):
        batch.append(0, b + a + b"\x08\0\x45" + random.Random(batch.count).randbytes(60))
    fast.receive_batch(batch, 0)
    assert {port for port, _ in fast.frames_to_send(0)} == {1, 2}


def test_queue_is_first_in_first_out_and_grows() -> None:
    assert LIBRARY is not None
    draw = random.Random(1)
    queue, model = FrameQueue(LIBRARY, capacity=64, rows=2), []
    for _ in range(3000):
        if draw.random() < 0.55 or not model:
            frame = (draw.randrange(9), draw.randbytes(draw.randrange(90)))
            queue.append(*frame)
            model.append(frame)
        elif draw.random() < 0.5:
            assert queue.popleft() == model.pop(0)
        else:
            batch = FrameBatch.of(draw.randrange(1, 6), 100)
            batch.append(1, b"before")
            queue.fill(batch)
            taken = batch.count - 1
            assert taken == min(batch.capacity - 1, len(model))
            assert [(int(batch.ports[row]), bytes(batch.row(row))) for row in range(1, batch.count)] == model[:taken]
            del model[:taken]
        assert len(queue) == len(model)


def test_which_program_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    config = SwitchConfig("s1", "forward", 2)
    assert type(create_forward(config)) is FastForwardProgram
    monkeypatch.setenv("INA_NATIVE", "0")
    assert type(create_forward(config)) is ForwardProgram
