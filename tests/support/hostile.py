"""Hostile peers: Machines of a simulated run that are fed, beside what the run sends them, frames that no honest node
sends. They are well-formed more often than not: fields are changed and the checksums mended, so that a Machine believes
them."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from workloads.machine import Buffer, Event
from workloads.wire import icrc_of
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, Datagram, decode_datagram, encode_datagram
from workloads.wire.envelope import Envelope, ipv4_checksum
from workloads.wire.layout import WireError

__all__ = ["Attacked", "damaged", "mended"]

_ETHERNET, _UDP_AT, _ROCE = 14, 34, 4791
_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF)
_KEPT = 64


def mended(frame: Buffer) -> bytes:
    """The frame with IPv4 checksum and UDP checksum, or iCRC, of the bytes that it has."""
    out = bytearray(frame)
    if len(out) < _UDP_AT + 8 or out[12:15] != b"\x08\x00\x45":
        return bytes(out)
    out[24:26] = b"\x00\x00"
    out[24:26] = ipv4_checksum(out[_ETHERNET:_UDP_AT]).to_bytes(2, "big")
    port = int.from_bytes(out[36:38], "big")
    if port == _ROCE and len(out) >= _UDP_AT + 8 + 12 + 4:
        out[-4:] = icrc_of(memoryview(out)[_ETHERNET:-4])
    elif port == AGGREGATION_PORT:
        out[40:42] = b"\x00\x00"
        length = int.from_bytes(out[38:40], "big")
        body = bytes(out[26:]) + b"\x00" * (len(out) & 1)
        total = sum(int.from_bytes(body[at : at + 2], "big") for at in range(0, len(body), 2)) + length + 17
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        out[40:42] = (~total & 0xFFFF or 0xFFFF).to_bytes(2, "big")
    return bytes(out)


def damaged(frame: Buffer, draw: Random) -> bytes:
    """The frame with something changed."""
    way = draw.randrange(10)
    if way == 0:
        return bytes(frame[: draw.randrange(len(frame) + 1)])
    if way == 1:
        return bytes(frame) + draw.randbytes(draw.randrange(1, 300))
    if way == 2:
        return draw.randbytes(draw.randrange(200))
    if way <= 6 and (found := _read(frame)) is not None:
        return _with_other_fields(frame, found, draw)
    out = bytearray(frame)
    for _ in range(draw.randrange(1, 5)):
        at = draw.randrange(_ETHERNET, max(_ETHERNET + 1, min(len(out), 130)))
        if at < len(out):
            out[at] = draw.choice((*_EDGES, out[at] ^ 1 << draw.randrange(8), out[at] + 1 & 255, out[at] - 1 & 255))
    return mended(out) if draw.random() < 0.9 else bytes(out)


def _read(frame: Buffer) -> Datagram | None:
    try:
        return decode_datagram(frame)
    except WireError:
        return None


_WIDTHS = {
    "policy": 4, "kind": 8, "job": 16, "sequence": 32, "slot": 16, "bitmap0": 32, "fan_in0": 8, "flags": 16,
    "tensor": 32, "op": 8,
    "node": 16, "new_slot": 16, "bitmap1": 32, "fan_in1": 8, "priority": 8, "server": 32,
}  # fmt: skip


def _with_other_fields(frame: Buffer, found: Datagram, draw: Random) -> bytes:
    header, payload = found.header, bytes(found.payload)
    for name in draw.sample(sorted(_WIDTHS), draw.choice((1, 1, 1, 2, 3))):
        top, value = 1 << _WIDTHS[name], getattr(header, name)
        other = draw.choice(
            (0, 1, value + 1, value - 1, value + top // 2, top // 2, top - 1, value ^ 1 << draw.randrange(8))
        )
        header = header._replace(**{name: other % top})
    if draw.random() < 0.3:
        header = header._replace(
            sequence=(found.header.sequence + draw.choice((-4, -1, 1, 4, 64, 1 << 31))) % (1 << 32)
        )
    if draw.random() < 0.2:
        header = header._replace(exponent0=draw.randrange(-128, 128), exponent1=draw.randrange(-128, 128))
    if draw.random() < 0.2:
        nelem = draw.choice((0, 1, 2, len(payload) // 4 + 1, 256))
        header, payload = header._replace(nelem=nelem), draw.randbytes(4 * nelem)
    mac, ip = bytes(frame[:6]), bytes(found.dst_ip)
    envelope = Envelope(bytes(found.src_mac), mac, bytes(found.src_ip), ip, found.sport)
    try:
        return encode_datagram(envelope, AGGREGATION_PORT, AggregationHeader(*header), payload)
    except WireError:
        return bytes(frame)


class Attacked:
    """A Machine whose peers lie: after an honest frame it sometimes gets others, changed from those that it got
    before."""

    def __init__(self, machine, seed: int, ports: int, likely: float = 0.3) -> None:
        self._machine, self._draw, self._ports, self._likely = machine, Random(seed), ports, likely
        self._heard: list[tuple[int, bytes]] = []
        self.fed = 0

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._machine.receive_frame(port, frame, now)
        if len(self._heard) < _KEPT:
            self._heard.append((port, bytes(frame)))
        else:
            self._heard[self._draw.randrange(_KEPT)] = port, bytes(frame)
        while self._draw.random() < self._likely:
            self._attack(now)

    def _attack(self, now: int) -> None:
        draw = self._draw
        port, frame = draw.choice(self._heard)
        for _ in range(draw.choice((0, 1, 1, 1, 2))):
            frame = damaged(frame, draw) or frame
        self.fed += 1
        self._machine.receive_frame(draw.randrange(self._ports) if draw.random() < 0.1 else port, frame, now)

    def frames_to_send(self, now: int) -> Iterable[tuple[int, Buffer]]:
        return self._machine.frames_to_send(now)

    def get_timer(self) -> int | None:
        return self._machine.get_timer()

    def handle_timer(self, now: int) -> None:
        self._machine.handle_timer(now)

    def next_event(self) -> Event | None:
        return self._machine.next_event()

    def finish(self, now: int) -> None:
        self._machine.finish(now)
