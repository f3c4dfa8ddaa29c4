"""Sockets of ports: what they are set to, and what the kernel charges for a frame."""

from __future__ import annotations

import os

import pytest

from switch_nodes.dataplane import native_io, open_io
from switch_nodes.dataplane.native_io import NativeIo, native_library
from switch_nodes.dataplane.packet_io import PacketIo
from switch_nodes.dataplane.python_io import PythonIo
from switch_nodes.dataplane.sockets import frame_cost, open_port, open_ports, queue_frames_for, row_stride
from tests.support.namespace import Namespace
from tests.support.native import require_native
from tests.support.wired import frame
from workloads.native.layout import check_structure

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs uid 0")


@pytest.mark.root
def test_the_interface_is_promiscuous_while_open(space: Namespace) -> None:
    space.veth("a0", "a1")
    index = space.index("a0")
    port = open_port("a0", backpressure=False)
    assert space.route.get_links(index)[0].get_attr("IFLA_PROMISCUITY") == 1
    port.socket.close()
    assert space.route.get_links(index)[0].get_attr("IFLA_PROMISCUITY") == 0


@pytest.mark.root
def test_an_interface_that_does_not_exist_is_named(space: Namespace) -> None:
    with pytest.raises(OSError, match="no interface 'nope' in this network namespace"):
        open_ports(["nope"], backpressure=True)


@pytest.mark.root
@pytest.mark.parametrize("size", [60, 1000, 1082, 1514, 4150, 9014])
def test_what_a_frame_costs_is_estimated_well(space: Namespace, size: int) -> None:
    """Too low an estimate would take frames from the Machine that find no room; too high a one would waste room."""
    space.veth("a0", "a1", mtu=9000)
    space.shape("a0", 8_000, limit=3000)
    port = open_port("a0", backpressure=True)
    io = PythonIo([port], backpressure=True)
    with port.socket:
        sent = 0
        for n in range(3000):
            try:
                port.socket.send(frame(n, size))
                sent += 1
            except BlockingIOError:
                break
        real = port.send_buffer / sent
        assert 0.5 * real <= frame_cost(size) <= 2.2 * real
        assert io.room() == 0


def test_the_mirrored_struct_has_the_size_that_c_gives_it() -> None:
    require_native("packet_io")
    library = native_library()
    assert library is not None
    check_structure(library, "packet_io", native_io._Header)


@pytest.mark.root
@pytest.mark.parametrize(("setting", "kind"), [("0", PythonIo), ("1", NativeIo)])
def test_the_c_core_is_optional(
    space: Namespace, monkeypatch: pytest.MonkeyPatch, setting: str, kind: type[PacketIo]
) -> None:
    monkeypatch.setenv("INA_NATIVE", setting)
    if setting == "1":
        require_native("packet_io")
    space.veth("a0", "a1")
    io = open_io(["a0"], backpressure=True)
    assert isinstance(io, kind)
    io.close()


def test_a_queue_of_one_millisecond_or_two_frames() -> None:
    assert queue_frames_for(None, 1500) == 160
    assert queue_frames_for(1_000_000, 1500) == 2
    assert queue_frames_for(100_000_000, 1500) == 8
    assert queue_frames_for(10_000_000_000, 1500) == 160


def test_rows_are_whole_cache_lines() -> None:
    assert [row_stride(mtu) for mtu in (1500, 9000, 1522)] == [1536, 9024, 1536]
