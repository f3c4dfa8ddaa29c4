"""BTH opcodes and the extension headers behind each (IBTA vol. 1, table 38; kernel drivers/infiniband/sw/rxe)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["OPCODES", "Opcode", "OpcodeInfo", "opcode_name"]


class Opcode(IntEnum):
    """RC opcodes, the UC and UD ones that the captures hold, CNP, and one of ours from the manufacturers' range."""

    SEND_FIRST = 0x00
    SEND_MIDDLE = 0x01
    SEND_LAST = 0x02
    SEND_LAST_IMM = 0x03
    SEND_ONLY = 0x04
    SEND_ONLY_IMM = 0x05
    WRITE_FIRST = 0x06
    WRITE_MIDDLE = 0x07
    WRITE_LAST = 0x08
    WRITE_LAST_IMM = 0x09
    WRITE_ONLY = 0x0A
    WRITE_ONLY_IMM = 0x0B
    READ_REQUEST = 0x0C
    READ_RESP_FIRST = 0x0D
    READ_RESP_MIDDLE = 0x0E
    READ_RESP_LAST = 0x0F
    READ_RESP_ONLY = 0x10
    ACKNOWLEDGE = 0x11
    ATOMIC_ACK = 0x12
    CMP_SWAP = 0x13
    FETCH_ADD = 0x14
    SEND_LAST_INV = 0x16
    SEND_ONLY_INV = 0x17
    UC_SEND_FIRST = 0x20
    UC_SEND_MIDDLE = 0x21
    UC_SEND_LAST = 0x22
    UC_SEND_LAST_IMM = 0x23
    UC_SEND_ONLY = 0x24
    UC_SEND_ONLY_IMM = 0x25
    UC_WRITE_FIRST = 0x26
    UC_WRITE_MIDDLE = 0x27
    UC_WRITE_LAST = 0x28
    UC_WRITE_LAST_IMM = 0x29
    UC_WRITE_ONLY = 0x2A
    UC_WRITE_ONLY_IMM = 0x2B
    UD_SEND_ONLY = 0x64
    UD_SEND_ONLY_IMM = 0x65
    CNP = 0x81
    IRN_ANSWER = 0xC1


@dataclass(frozen=True, slots=True)
class OpcodeInfo:
    """What an opcode says about its packet."""

    extensions: tuple[str, ...] = ()
    """names of the extension headers, in wire order: deth, reth, atomic, aeth, atomic_ack, imm, ieth, sack"""
    is_request: bool = False
    """a SEND or WRITE packet: it carries data and consumes a PSN"""
    starts: bool = False
    """FIRST or ONLY"""
    ends: bool = False
    """LAST or ONLY"""
    is_write: bool = False
    has_imm: bool = False
    trailer_bytes: int = 0
    """bytes behind the headers that are no payload (CNP: 16 zeros)"""


def _data(name: str) -> OpcodeInfo:
    write, ud = "WRITE" in name, name.startswith("UD_")
    starts = "FIRST" in name or "ONLY" in name
    ends = "LAST" in name or "ONLY" in name
    imm = name.endswith("_IMM")
    extensions = (
        *(("deth",) if ud else ()),
        *(("reth",) if write and starts else ()),
        *(("imm",) if imm else ()),
        *(("ieth",) if name.endswith("_INV") else ()),
    )
    return OpcodeInfo(extensions, True, starts, ends, write, imm)


_OTHERS = {
    Opcode.READ_REQUEST: OpcodeInfo(("reth",)),
    Opcode.READ_RESP_FIRST: OpcodeInfo(("aeth",)),
    Opcode.READ_RESP_MIDDLE: OpcodeInfo(),
    Opcode.READ_RESP_LAST: OpcodeInfo(("aeth",)),
    Opcode.READ_RESP_ONLY: OpcodeInfo(("aeth",)),
    Opcode.ACKNOWLEDGE: OpcodeInfo(("aeth",)),
    Opcode.ATOMIC_ACK: OpcodeInfo(("aeth", "atomic_ack")),
    Opcode.CMP_SWAP: OpcodeInfo(("atomic",)),
    Opcode.FETCH_ADD: OpcodeInfo(("atomic",)),
    Opcode.CNP: OpcodeInfo(trailer_bytes=16),
    Opcode.IRN_ANSWER: OpcodeInfo(("aeth", "sack")),
}

OPCODES: dict[int, OpcodeInfo] = {int(op): _OTHERS.get(op) or _data(op.name) for op in Opcode}


def opcode_name(code: int) -> str:
    """`WRITE_MIDDLE`, or `0xc2` when we do not know it."""
    return Opcode(code).name if code in OPCODES else f"{code:#04x}"
