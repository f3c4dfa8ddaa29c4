"""Answers of `irn-held` drawn for a stream of frames that enters a switch: maps of what passed lately, and of anything
else, whole and broken."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from workloads.machine import Buffer
from workloads.wire import (
    Aeth,
    Bth,
    Envelope,
    Nak,
    Opcode,
    Packet,
    Sack,
    WireError,
    decode_packet,
    encode_packet,
    icrc_of,
    psn_add,
)
from workloads.wire.envelope import ETHERNET, encode_envelope
from workloads.wire.held_map import HELD_PACKETS, NO_PSN, HeldMap, decode_held_map

__all__ = ["map_in", "with_answers"]

_PSNS = 1 << 24
Stream = list[tuple[int, bytes]]


def with_answers(stream: Stream, seed: int, rate: float = 0.5) -> Stream:
    """The same with answers in between. Those that are whole come in where their hosts' data does."""
    draw = random.Random(f"answers {seed}")
    passed: list[Packet] = []
    ports: dict[bytes, int] = {}
    told: Stream = []
    for port, frame in stream:
        told.append((port, frame))
        packet = _packet(frame)
        if packet is not None and packet.reth is not None:
            passed = [*passed[-39:], packet]
            ports[packet.envelope.src_ip] = port
        while passed and draw.random() < rate:
            about = draw.choice(passed[-12:])
            told.append((ports.get(about.envelope.dst_ip, port), _answer(about, passed, draw)))
    return told


def _packet(frame: Buffer) -> Packet | None:
    try:
        return decode_packet(frame)
    except WireError:
        return None


def map_in(frame: Buffer) -> HeldMap | None:
    """None when it is no answer with a map."""
    packet = _packet(frame)
    return None if packet is None or packet.bth.opcode != Opcode.IRN_ANSWER else decode_held_map(packet.payload)


def _answer(about: Packet, passed: Sequence[Packet], draw: random.Random) -> bytes:
    to, psn = about.envelope, about.bth.psn
    near = [packet.bth.psn for packet in passed if packet.connection == about.connection]
    near += [psn, psn, psn_add(psn, draw.randrange(-6, 6)), draw.randrange(_PSNS)]
    count = draw.choice((1, 2, 4, 7, HELD_PACKETS - 1, HELD_PACKETS))
    bits = draw.choice((0, draw.getrandbits(count), (1 << count) - 1))
    held = HeldMap(draw.choice(near), count, bits, draw.choice((NO_PSN, *near)))
    back = Envelope(
        to.dst_mac, to.src_mac, to.dst_ip, to.src_ip, tos=draw.choice((0, 2, 3)), udp_checksum=draw.choice((0, 7))
    )  # fmt: skip
    bth = Bth(Opcode.IRN_ANSWER, draw.randrange(_PSNS), psn, becn=draw.randrange(2), tver=draw.randrange(2))
    packet = Packet(back, bth, held.encode(), aeth=Aeth(Nak.PSN_SEQUENCE, 1), sack=Sack(psn, psn))
    return _changed(packet, draw) if draw.random() < 0.5 else encode_packet(packet)


def _changed(packet: Packet, draw: random.Random) -> bytes:
    kind, payload, back = draw.randrange(10), bytearray(packet.payload), packet.envelope
    if kind == 0:
        payload[0] = draw.choice((HELD_PACKETS, 255, draw.randrange(HELD_PACKETS)))
    elif kind == 1:
        payload[4:8] = draw.choice((_PSNS, NO_PSN - 1, 1 << 31)).to_bytes(4, "big")
    elif kind == 2:
        payload[8:] = draw.randbytes(8)
    elif kind == 3:
        payload = payload[: draw.choice((0, 4, 15))] if draw.random() < 0.5 else payload + bytes(draw.choice((1, 4)))
    elif kind == 4:
        back = replace(back, src_ip=back.dst_ip, dst_ip=back.src_ip)
    elif kind == 5:
        back = replace(back, src_mac=b"\2newer")
    changed = replace(packet, payload=bytes(payload), envelope=back)
    frame = bytearray(encode_packet(changed))
    if kind == 6:
        frame[draw.randrange(len(frame))] ^= 1 << draw.randrange(8)
    elif kind == 7:
        frame += bytes(draw.choice((1, 20)))
    elif kind == 8:
        frame = _padded(changed, draw.randrange(1, 4), draw.choice((0, 16, 17, 18, 19)))
    elif kind == 9:
        frame[42 if len(back.src_ip) == 4 else 62] = Opcode.ACKNOWLEDGE
        frame[-4:] = icrc_of(frame[ETHERNET.size : -4])
    return bytes(frame)


def _padded(packet: Packet, pad: int, behind: int) -> bytearray:
    """With so many bytes of pad in front of its iCRC, and of Ethernet's behind it."""
    head = encode_envelope(packet.envelope, 0)
    transport = bytearray(encode_packet(packet)[len(head) : -4]) + bytes(pad)
    transport[1] |= pad << 4
    frame = encode_envelope(packet.envelope, len(transport) + 4) + transport
    return bytearray(frame + icrc_of(frame[ETHERNET.size :]) + bytes(behind))
