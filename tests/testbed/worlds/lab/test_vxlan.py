"""VXLAN headers, and the relay that speaks them."""

from __future__ import annotations

import pytest

from switch_nodes.config import SwitchConfig
from testbed.worlds.lab.relay import RelayProgram
from testbed.worlds.lab.vxlan import decapsulate, encapsulate


def test_the_header_is_that_of_rfc_7348() -> None:
    assert encapsulate(0x123456, b"frame") == bytes.fromhex("0800000012345600") + b"frame"
    assert decapsulate(bytes.fromhex("0800000012345600") + b"frame") == (0x123456, b"frame")


def test_scapy_agrees() -> None:
    vxlan = pytest.importorskip("scapy.layers.vxlan")
    packet = vxlan.VXLAN(encapsulate(101, bytes(14)))
    assert (packet.vni, int(packet.flags)) == (101, 8)


@pytest.mark.parametrize("datagram", [b"", b"\x08\0\0\0\0\0\x64\0", bytes(30)])
def test_what_is_no_vxlan(datagram: bytes) -> None:
    assert decapsulate(datagram) is None


def test_a_relay_passes_frames_both_ways_and_none_to_ports_that_are_not_there() -> None:
    sent: list[tuple[int, bytes]] = []
    relay = RelayProgram(SwitchConfig("s1", "netreduce", 2), lambda port, frame: sent.append((port, frame)))
    relay.receive_frame(1, memoryview(b"up"), 0)
    assert sent == [(1, b"up")]
    assert list(relay.frames_to_send(0)) == []
    for port in (0, 2, -1):
        relay.arrive(port, b"down")
    assert list(relay.frames_to_send(0)) == [(0, b"down")]
