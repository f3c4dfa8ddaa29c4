"""Golden traces as captures: the frames that go into a switch are read from one, and what came out is written as
one."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.golden import Output, TimedFrame
from testbed.captures.pcapng import Interface, read_capture
from testbed.captures.writer import PcapngWriter
from workloads.errors import ScenarioError
from workloads.wire.places import SRC_MAC

__all__ = ["read_trace", "write_trace"]

_PCAP_MAGICS: Mapping[bytes, tuple[str, int]] = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""byte order, ns per unit of the fraction of a second"""
_ETHERNET = 1


def read_trace(path: Path, config: SwitchConfig) -> list[TimedFrame]:
    """The frames that go into a switch. In pcapng, interface i is port i, and frames marked as outgoing are skipped.
    In pcap, a frame comes in at the port where its source MAC is, as `config.macs` says. Raises ScenarioError."""
    try:
        head = path.read_bytes()[:4]
        frames = _pcap(path, config) if head in _PCAP_MAGICS else _pcapng(path, config)
    except (OSError, ValueError, struct.error, IndexError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ScenarioError("cannot be read", file=str(path), found=reason, allowed="pcapng, pcap") from error
    if not frames:
        raise ScenarioError("holds no frame that goes into the switch", file=str(path))
    return frames


def _pcapng(path: Path, config: SwitchConfig) -> list[TimedFrame]:
    interfaces: list[Interface] = []
    frames = []
    for number, captured in enumerate(read_capture(path, interfaces)):
        if captured.outgoing:
            continue
        if captured.interface >= config.ports:
            raise ScenarioError(
                f"frame {number} is of interface {captured.interface}", file=str(path),
                allowed=f"one interface per port, 0 .. {config.ports - 1}",
            )  # fmt: skip
        frames.append(TimedFrame(captured.interface, captured.time_ns, captured.frame))
    return frames


def _pcap(path: Path, config: SwitchConfig) -> list[TimedFrame]:
    data, ports = path.read_bytes(), dict(config.macs)
    order, scale = _PCAP_MAGICS[data[:4]]
    (linktype,) = struct.unpack_from(order + "I", data, 20)
    if linktype & 0xFFFF != _ETHERNET:
        raise ScenarioError("is no capture of Ethernet", file=str(path), found=f"link type {linktype & 0xFFFF}")
    frames: list[TimedFrame] = []
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, size, original = struct.unpack_from(order + "IIII", data, at)
        frame = data[at + 16 : at + 16 + size]
        if size < original or len(frame) < size:
            raise ScenarioError(
                f"frame {len(frames)} was cut off by the capture",
                file=str(path),
                found=f"{len(frame)} of {original} bytes",
            )
        source = frame[SRC_MAC]
        if source not in ports:
            raise ScenarioError(
                f"frame {len(frames)} is from a MAC whose port is not known", file=str(path), found=source.hex(":"),
                allowed="an entry in macs of the switch's configuration, or a pcapng with one interface per port",
            )  # fmt: skip
        frames.append(TimedFrame(ports[source], seconds * 1_000_000_000 + fraction * scale, frame))
        at += 16 + size
    return frames


def write_trace(
    path: Path, ports: int, frames: Sequence[TimedFrame | Output], *, outgoing: bool, when: Callable[[int], int]
) -> None:
    """A pcapng with one interface per port; `when(step)` is the time of an output after that input. Raises OSError."""
    with path.open("wb") as file:
        writer = PcapngWriter(file, [f"port{port}" for port in range(ports)])
        for item in frames:
            time_ns = item.time_ns if isinstance(item, TimedFrame) else when(item.step)
            writer.write_frame(item.port, item.frame, time_ns, outgoing)
