"""A whole RoCE v2 packet: `Eth | IP | UDP | BTH | extension headers | payload | pad | iCRC`."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Buffer
from workloads.wire.envelope import ETHERNET, IPV4, UDP, Envelope, decode_envelope, encode_envelope
from workloads.wire.headers import Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Header, Ieth, ImmDt, Reth, Sack
from workloads.wire.icrc import ICRC_BYTES, icrc_of
from workloads.wire.layout import WireError
from workloads.wire.opcodes import OPCODES, Opcode, OpcodeInfo, opcode_name

__all__ = [
    "EMPTY_FRAME_BYTES",
    "EXTENSIONS",
    "Packet",
    "continues",
    "decode_packet",
    "decode_transport",
    "encode_packet",
    "icrc_is_valid",
    "replace_payload",
]

EXTENSIONS: dict[str, type[Header]] = {
    "deth": Deth, "reth": Reth, "atomic": AtomicEth, "aeth": Aeth, "atomic_ack": AtomicAckEth, "imm": ImmDt,
    "ieth": Ieth, "sack": Sack,
}  # fmt: skip
EMPTY_FRAME_BYTES = ETHERNET.size + IPV4.size + UDP.size + Bth.LAYOUT.size + ICRC_BYTES
"""bytes of a frame over IPv4 in addition to extension headers and payload"""
_WRITES_ALONE = (Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)


def continues(opcode: int, reth_length: int, payload_bytes: int) -> bool:
    """Whether it is a packet of IRN behind the first of its message: a WRITE_ONLY whose RETH names more bytes than it
    has (`docs/irn.md`). Go-back-N has no such packets."""
    return opcode in _WRITES_ALONE and reth_length > payload_bytes


@dataclass(frozen=True, slots=True)
class Packet:
    """Decoded values. `payload` is without pad; an extension header is set if and only if the opcode has it."""

    envelope: Envelope
    bth: Bth
    payload: Buffer = b""
    deth: Deth | None = None
    reth: Reth | None = None
    atomic: AtomicEth | None = None
    aeth: Aeth | None = None
    atomic_ack: AtomicAckEth | None = None
    imm: ImmDt | None = None
    ieth: Ieth | None = None
    sack: Sack | None = None

    @property
    def info(self) -> OpcodeInfo:
        return OPCODES[self.bth.opcode]

    @property
    def starts(self) -> bool:
        """FIRST or ONLY, and no later packet of a message under IRN."""
        length = -1 if self.reth is None else self.reth.length
        return self.info.starts and not continues(self.bth.opcode, length, len(self.payload))

    @property
    def connection(self) -> tuple[bytes, bytes, int]:
        """(source IP, destination IP, destination QPN): what distinguishes one connection's packets from another's."""
        return self.envelope.src_ip, self.envelope.dst_ip, self.bth.dest_qpn


def encode_packet(packet: Packet) -> bytes:
    """The frame, with pad, lengths, IPv4 checksum and iCRC computed; `packet.bth.pad` is ignored and set right.
    Raises WireError when an extension header is missing or out of place, or a value does not fit."""
    info = OPCODES.get(packet.bth.opcode)
    if info is None:
        raise WireError(f"unknown opcode {packet.bth.opcode:#04x}")
    extensions = b""
    for name in EXTENSIONS:
        if (getattr(packet, name) is not None) != (name in info.extensions):
            raise WireError(f"{opcode_name(packet.bth.opcode)} takes {info.extensions or 'no extension headers'}")
    for name in info.extensions:
        extensions += getattr(packet, name).encode()
    pad = -len(packet.payload) & 3
    bth = bytearray(packet.bth.encode())
    bth[1] = bth[1] & ~0x30 | pad << 4
    transport = b"".join((bth, extensions, packet.payload, bytes(pad)))
    head = encode_envelope(packet.envelope, len(transport) + ICRC_BYTES)
    frame = head + transport
    return frame + icrc_of(memoryview(frame)[ETHERNET.size :])


def decode_packet(frame: Buffer) -> Packet | None:
    """None when the frame is not RoCE v2 (see `decode_envelope`). Raises WireError when it is and is malformed or has
    an opcode that we do not know. The iCRC is not checked here. The payload is a view into `frame`."""
    found = decode_envelope(frame)
    if found is None:
        return None
    envelope, at, end = found
    return decode_transport(frame, envelope, Bth.decode(memoryview(frame)[:end], at), at, end)


def decode_transport(frame: Buffer, envelope: Envelope, bth: Bth, at: int, end: int) -> Packet:
    """The rest of `decode_packet`: `bth` stands at byte `at`, the iCRC ends at `end`. Raises WireError as that does."""
    at += Bth.LAYOUT.size
    info = OPCODES.get(bth.opcode)
    if info is None:
        raise WireError(f"unknown opcode {bth.opcode:#04x}")
    headers: dict[str, Header] = {}
    for name in info.extensions:
        kind = EXTENSIONS[name]
        headers[name] = kind.decode(memoryview(frame)[:end], at)
        at += kind.LAYOUT.size
    payload_end = end - ICRC_BYTES - bth.pad
    if payload_end < at:
        raise WireError(f"{opcode_name(bth.opcode)}: {end - at} bytes left for pad {bth.pad} and iCRC")
    return Packet(envelope, bth, memoryview(frame)[at:payload_end], **headers)  # type: ignore[arg-type]


def icrc_is_valid(frame: Buffer) -> bool:
    """Whether a RoCE v2 frame carries the iCRC of its bytes. Raises WireError as `decode_envelope` does; False when the
    frame is not RoCE v2 or too short for a BTH."""
    found = decode_envelope(frame)
    if found is None or found[2] - found[1] < Bth.LAYOUT.size + ICRC_BYTES:
        return False
    end = found[2]
    view = memoryview(frame)
    return icrc_of(view[ETHERNET.size : end - ICRC_BYTES]) == bytes(view[end - ICRC_BYTES : end])


def replace_payload(frame: Buffer, payload: Buffer, start: int = 0) -> bytes:
    """The same packet with `payload` put at byte `start` of its payload and a new iCRC; headers stay to the bit.
    Raises WireError when the frame is no RoCE v2 packet or the payload does not fit inside the old one."""
    packet = decode_packet(frame)
    if packet is None:
        raise WireError("not a RoCE v2 packet")
    if start + len(payload) > len(packet.payload):
        raise WireError(f"{len(payload)} bytes at {start} do not fit a payload of {len(packet.payload)}")
    found = decode_envelope(frame)
    assert found is not None
    end = found[2]
    at = end - ICRC_BYTES - packet.bth.pad - len(packet.payload) + start
    body = bytearray(frame[: end - ICRC_BYTES])
    body[at : at + len(payload)] = payload
    return bytes(body) + icrc_of(memoryview(body)[ETHERNET.size :])
