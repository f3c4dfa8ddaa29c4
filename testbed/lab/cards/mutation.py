"""Golden traces with what no well-behaved host sends: frames that are lost, doubled, swapped, damaged, cut, marked, in
the wrong place, or of another connection. What a card does with them follows from the reference, as for any trace."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from switch_nodes.fpga.golden import TimedFrame
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.wire import OPCODES, WireError, decode_packet, encode_packet, psn_add, replace_payload
from workloads.wire.packet import Packet
from workloads.wire.trimming import trim

__all__ = ["mutated"]

_MTU_ROOM = 1024
_CE = 3
_RESENT = 12
"""packets that a host sends again on its new connection"""
_RECONNECTS = 0.4
"""share of traces with a connection that begins again"""


def mutated(inputs: Sequence[TimedFrame], ports: int, seed: int, *, share: float = 0.15) -> list[TimedFrame]:
    """The trace with a share of its frames changed, drawn from `seed`; times stay those of the frames. `ports`: of the
    switch."""
    dice = random.Random(seed)
    found: list[TimedFrame] = []
    for item in _reconnected(inputs, dice) if dice.random() < _RECONNECTS else inputs:
        if dice.random() >= share:
            found.append(item)
            continue
        kind = dice.randrange(10)
        if kind == 0:
            continue
        if kind == 1:
            found += [item, item]
        elif kind == 2 and found:
            found[-1:] = [replace(item, time_ns=found[-1].time_ns), replace(found[-1], time_ns=item.time_ns)]
        elif kind == 3:
            found.append(replace(item, port=dice.randrange(ports)))
        elif kind == 4:
            found += [replace(item, frame=_stranger(item.frame, dice)), item]
        elif kind == 5:
            found.append(replace(item, frame=_damaged(item.frame, dice)))
        else:
            changed = replace(item, frame=_changed(item.frame, dice))
            # Also next to the packet as it should be: before or behind it.
            found += [changed, item] if dice.random() < 0.5 else [item, changed]
    return found


def _reconnected(inputs: Sequence[TimedFrame], dice: random.Random) -> list[TimedFrame]:
    """From some frame on, one connection has another QPN and other PSNs, as of a host that connected again. It sends
    its newest packets again first."""
    begin, jump, other = dice.randrange(len(inputs)), dice.randrange(1, 1 << 20), 1 << dice.randrange(24)
    chosen = next((packet for item in inputs[begin:] if (packet := _data(item.frame)) is not None), None)
    if chosen is None:
        return list(inputs)

    def moved(item: TimedFrame) -> TimedFrame:
        packet = _data(item.frame)
        if packet is None or packet.connection != chosen.connection:
            return item
        bth = replace(packet.bth, psn=psn_add(packet.bth.psn, jump), dest_qpn=packet.bth.dest_qpn ^ other)
        return replace(item, frame=encode_packet(replace(packet, bth=bth)))

    before = [item for item in inputs[:begin] if moved(item) is not item][-_RESENT:]
    resent = [replace(moved(item), time_ns=inputs[begin].time_ns) for item in before]
    return [*inputs[:begin], *resent, *(moved(item) for item in inputs[begin:])]


def _data(frame: bytes) -> Packet | None:
    """A SEND or WRITE packet."""
    packet = _decoded(frame)
    return packet if packet is not None and packet.info.is_request else None


def _decoded(frame: bytes) -> Packet | None:
    try:
        return decode_packet(frame)
    except WireError:
        return None


def _damaged(frame: bytes, dice: random.Random) -> bytes:
    """Bits turned, bytes cut off, padding behind the packet."""
    kind = dice.randrange(4)
    if kind == 0:
        return frame + bytes(dice.randrange(256) for _ in range(dice.randrange(1, 20)))
    if kind == 1:
        return frame[: dice.randrange(1, len(frame) + 1)]
    data = bytearray(frame)
    at = dice.randrange(len(data)) if kind == 2 else dice.randrange(min(len(data), 86))
    data[at] ^= 1 << dice.randrange(8)
    return bytes(data)


def _stranger(frame: bytes, dice: random.Random) -> bytes:
    """A frame that is forwarded: to the addresses of this one, to an unknown address, to all, back to its sender."""
    source, destination = frame[6:12], frame[0:6]
    far = bytes((2, 0, 0, 1, 0, dice.randrange(8)))
    to = dice.choice((destination, source, far, b"\xff" * 6, bytes.fromhex("0180c200000e"), b"\x01\0\x5e\0\0\1"))
    body = bytes(dice.randrange(256) for _ in range(dice.randrange(0, 90)))
    return to + dice.choice((source, far, to)) + dice.choice((b"\x08\x06", b"\x08\x00", b"\x86\xdd")) + body


def _changed(frame: bytes, dice: random.Random) -> bytes:
    """Another packet with a right iCRC; the same frame if it is no RoCE."""
    packet = _decoded(frame)
    if packet is None:
        return _damaged(frame, dice)
    try:
        return dice.choice(_CHANGES)(frame, packet, dice)
    except WireError:
        return frame


def _bth(frame: bytes, packet: Packet, dice: random.Random) -> bytes:
    bth = packet.bth
    psn = (bth.psn + dice.choice((-200, -32, -3, -1, 1, 2, 5, 40))) & 0xFFFFFF
    changes = (
        {"psn": psn}, {"dest_qpn": bth.dest_qpn ^ 1 << dice.randrange(24)}, {"ack_req": bth.ack_req ^ 1},
        {"opcode": dice.randrange(0x18)},
    )  # fmt: skip
    changed = replace(bth, **dice.choice(changes))
    info = OPCODES.get(changed.opcode)
    if info is None or info.extensions != packet.info.extensions:
        changed = replace(changed, opcode=bth.opcode)
    return encode_packet(replace(packet, bth=changed))


def _envelope(frame: bytes, packet: Packet, dice: random.Random) -> bytes:
    changes = ({"tos": packet.envelope.tos & ~3 | dice.choice((0, 1, 2, _CE))}, {"ttl": dice.randrange(256)},
               {"udp_checksum": dice.randrange(1 << 16)}, {"src_ip": packet.envelope.dst_ip})  # fmt: skip
    return encode_packet(replace(packet, envelope=replace(packet.envelope, **dice.choice(changes))))


def _payload(frame: bytes, packet: Packet, dice: random.Random) -> bytes:
    size = len(packet.payload)
    if size == 0:
        return frame
    at = dice.randrange(size) if dice.random() < 0.5 else dice.randrange(min(size, INA_HEADER_BYTES))
    return replace_payload(frame, bytes((packet.payload[at] ^ 1 << dice.randrange(8),)), at)


def _length(frame: bytes, packet: Packet, dice: random.Random) -> bytes:
    size = max(0, min(_MTU_ROOM, len(packet.payload) + dice.choice((-64, -8, -4, -3, -1, 1, 4, 16))))
    return encode_packet(replace(packet, payload=bytes(packet.payload)[:size].ljust(size, b"\x5a")))


def _trimmed(frame: bytes, packet: Packet, dice: random.Random) -> bytes:
    return trim(frame) or frame


_CHANGES: tuple[Callable[[bytes, Packet, random.Random], bytes], ...] = (_bth, _envelope, _payload, _length, _trimmed)
