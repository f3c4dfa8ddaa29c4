"""The agenda and the wires in C, beside the reference."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import pytest

from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.native.library import MachineKind, NodeStruct
from testbed.worlds.simulated.native.wire import NativeWire
from testbed.worlds.simulated.wire import Wire
from tests.support.agendas import agendas
from tests.support.native import needs_native
from topologies import LinkShape

needs_c = needs_native("simulator")


@needs_c
@pytest.mark.parametrize("seed", [0, 1, -7, 1 << 70])
def test_appointments_are_kept_in_the_same_order(seed: int) -> None:
    kept: list[list[Any]] = []
    for agenda in agendas(seed):
        dice, order = random.Random(5), []

        def act(number: int, agenda: Agenda = agenda, dice: random.Random = dice, order: list[Any] = order) -> None:
            order.append((agenda.now, number))
            for _ in range(dice.choice([0, 1, 2]) if len(order) < 3000 else 0):
                agenda.at(agenda.now + dice.choice([0, 1, 1, 2, 50]), dice.randrange(5 << 16), act, dice.random())

        for number in range(100):
            agenda.at(dice.randrange(4) << 40, dice.randrange(6), act, number)
        assert agenda.run(3 << 39, lambda order=order: len(order) < 2000) in (True, False)
        half = agenda.now, agenda.next_time(), len(order)
        assert not agenda.run((1 << 63) - 1, lambda: True)
        assert agenda.next_time() is None
        kept.append([half, order])
    assert kept[0] == kept[1]
    assert len(kept[0][1]) > 200


@needs_c
def test_an_empty_agenda() -> None:
    for agenda in agendas(1):
        with pytest.raises(IndexError):
            agenda.step()


@needs_c
def test_a_wire_says_why_it_drops() -> None:
    shape = LinkShape(mtu=100, queue_packets=2)
    results = []
    for agenda, kind in zip(agendas(1), (Wire, NativeWire), strict=True):
        wire = kind(agenda, 3, shape)  # type: ignore[arg-type]
        results.append([wire.send(bytes(size)) for size in (115, 114, 60, 60, 60, 120)])
        assert (wire.frames, wire.drops, wire.bytes) == (1, 3, 114)
        wire.rate_bps = 7
        assert wire.rate_bps == 7
    assert results[0] == results[1] == ["misfit", "", "", "", "queue", "misfit"]


def some_frames(dice: random.Random) -> list[bytes]:
    """IPv4 and IPv6 with every ECN field and any checksum, other kinds, and frames that end inside a header."""
    frames = []
    for _ in range(400):
        kind = dice.choice([b"\x08\x00", b"\x08\x00", b"\x86\xdd", b"\x08\x06"])
        frame = bytearray(dice.randbytes(12) + kind + dice.randbytes(dice.choice([0, 1, 19, 20, 39, 40, 60])))
        if len(frame) > 25 and dice.random() < 0.1:
            frame[24:26] = dice.choice([b"\0\0", b"\xff\xff"])
        frames.append(bytes(frame[: dice.choice([len(frame), len(frame), 13])]))
    return frames


@needs_c
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("priority", ["none", "layers"])
def test_a_wire_marks_and_orders_the_same_frames_in_the_same_way(seed: int, priority: str) -> None:
    frames = some_frames(random.Random(seed))
    shape = LinkShape(mtu=1500, queue_packets=len(frames), ecn_threshold_packets=1, priority=priority)
    queues = []
    for agenda, kind in zip(agendas(1), (Wire, NativeWire), strict=True):
        wire = kind(agenda, 3, shape)  # type: ignore[arg-type]
        assert {wire.send(frame) for frame in frames} == {""}
        queues.append((wire.marks, heard_of(wire) if isinstance(wire, NativeWire) else delivered_by(wire, agenda)))
    assert queues[0] == queues[1]
    assert queues[0][0] > 30
    in_order = [frame[6:12] for frame in queues[0][1]] == [frame[6:12] for frame in frames]
    assert in_order == (priority == "none")


def delivered_by(wire: Wire, agenda: Agenda) -> list[bytes]:
    """One after the other."""
    heard: list[bytes] = []
    wire.deliver = lambda frame: heard.append(bytes(frame))
    assert not agenda.run(1 << 62, lambda: True)
    return heard


def heard_of(wire: NativeWire) -> list[bytes]:
    """What the loop delivers one after the other: read by letting it leave at a node that tells."""
    heard: list[bytes] = []

    class Node:
        struct = NodeStruct(actor=1, armed=-1, alive=1, machine=MachineKind.BY_VERBS)

        def take(self, port: int, frame: bytes) -> None:
            heard.append(frame)

    agenda, node = wire._native, Node()
    wire.leads(-1, 0, 0)
    agenda.core.wires = agenda.table([wire.address])
    agenda.core.nodes = agenda.table([ctypes.addressof(node.struct)])
    agenda._nodes = [node]  # type: ignore[list-item]
    assert not agenda.run(1 << 62, lambda: True)
    return heard
