"""Packets changed as no well-behaved host would: each with a right iCRC. For cards that are faulty on purpose, and for
traces that show what a card does with such packets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from workloads.machine import Buffer
from workloads.wire.layout import WireError
from workloads.wire.opcodes import OPCODES
from workloads.wire.packet import Packet, decode_packet, encode_packet, replace_payload
from workloads.wire.psn import psn_add
from workloads.wire.trimming import trim

__all__ = ["changed", "data_bytes", "data_flow", "flipped", "moved", "renumbered"]

_T = TypeVar("_T")
_MTU_ROOM = 1024
_CE = 3


class _Dice(Protocol):
    """As `random.Random`."""

    def random(self, /) -> float: ...

    def randrange(self, stop: int, /) -> int: ...

    def choice(self, among: Sequence[_T], /) -> _T: ...


def _decoded(frame: Buffer) -> Packet | None:
    try:
        return decode_packet(frame)
    except WireError:
        return None


def _data(frame: Buffer) -> Packet | None:
    """A SEND or WRITE packet."""
    packet = _decoded(frame)
    return packet if packet is not None and packet.info.is_request else None


def data_bytes(frame: Buffer) -> int:
    """Bytes of payload of a SEND or WRITE packet; 0 for all else."""
    packet = _data(frame)
    return 0 if packet is None else len(packet.payload)


def data_flow(frame: Buffer) -> tuple[bytes, bytes, int] | None:
    """Connection of a SEND or WRITE packet; None for all else."""
    packet = _data(frame)
    return None if packet is None else packet.connection


def flipped(frame: Buffer, at: int) -> bytes:
    """The packet with the lowest bit of a byte of its payload flipped. Raises WireError where there is none."""
    packet = _data(frame)
    if packet is None or at >= len(packet.payload):
        raise WireError(f"no data with a byte {at}")
    return replace_payload(frame, bytes((packet.payload[at] ^ 1,)), at)


def renumbered(frame: Buffer, by: int) -> bytes:
    """The packet with a PSN that is larger by `by`. Raises WireError for what is no data."""
    return moved(frame, by, 0)


def moved(frame: Buffer, jump: int, qpn_bits: int) -> bytes:
    """The packet on another connection: PSN larger by `jump`, other bits in the queue pair. Raises WireError for what
    is no data."""
    packet = _data(frame)
    if packet is None:
        raise WireError("no data")
    bth = packet.bth
    bth = replace(bth, psn=psn_add(bth.psn, jump), dest_qpn=bth.dest_qpn ^ qpn_bits)
    return encode_packet(replace(packet, bth=bth))


def changed(frame: bytes, dice: _Dice, front_bytes: int) -> bytes | None:
    """One thing of a packet changed, drawn from `dice`. Half of the changed bytes of payload are among its first
    `front_bytes`. The same frame where that change is not possible. None: no RoCE v2, and nothing was drawn."""
    packet = _decoded(frame)
    if packet is None:
        return None
    try:
        return dice.choice(_CHANGES)(frame, packet, dice, front_bytes)
    except WireError:
        return frame


def _bth(frame: bytes, packet: Packet, dice: _Dice, front_bytes: int) -> bytes:
    bth = packet.bth
    psn = psn_add(bth.psn, dice.choice((-200, -32, -3, -1, 1, 2, 5, 40)))
    changes: tuple[dict[str, Any], ...] = (
        {"psn": psn}, {"dest_qpn": bth.dest_qpn ^ 1 << dice.randrange(24)}, {"ack_req": bth.ack_req ^ 1},
        {"opcode": dice.randrange(0x18)},
    )  # fmt: skip
    other = replace(bth, **dice.choice(changes))
    info = OPCODES.get(other.opcode)
    if info is None or info.extensions != packet.info.extensions:
        other = replace(other, opcode=bth.opcode)
    return encode_packet(replace(packet, bth=other))


def _envelope(frame: bytes, packet: Packet, dice: _Dice, front_bytes: int) -> bytes:
    changes: tuple[dict[str, Any], ...] = (
        {"tos": packet.envelope.tos & ~3 | dice.choice((0, 1, 2, _CE))}, {"ttl": dice.randrange(256)},
        {"udp_checksum": dice.randrange(1 << 16)}, {"src_ip": packet.envelope.dst_ip},
    )  # fmt: skip
    return encode_packet(replace(packet, envelope=replace(packet.envelope, **dice.choice(changes))))


def _payload(frame: bytes, packet: Packet, dice: _Dice, front_bytes: int) -> bytes:
    size = len(packet.payload)
    if size == 0:
        return frame
    at = dice.randrange(size) if dice.random() < 0.5 else dice.randrange(min(size, front_bytes))
    return replace_payload(frame, bytes((packet.payload[at] ^ 1 << dice.randrange(8),)), at)


def _length(frame: bytes, packet: Packet, dice: _Dice, front_bytes: int) -> bytes:
    size = max(0, min(_MTU_ROOM, len(packet.payload) + dice.choice((-64, -8, -4, -3, -1, 1, 4, 16))))
    return encode_packet(replace(packet, payload=bytes(packet.payload)[:size].ljust(size, b"\x5a")))


def _trimmed(frame: bytes, packet: Packet, dice: _Dice, front_bytes: int) -> bytes:
    return trim(frame) or frame


_CHANGES: tuple[Callable[[bytes, Packet, _Dice, int], bytes], ...] = (_bth, _envelope, _payload, _length, _trimmed)
