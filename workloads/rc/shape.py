"""RoCE v2 as numbers and layouts, for parsers that are made from them: in hardware, in C, in Wireshark."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from workloads.wire.envelope import ROCE_PORT
from workloads.wire.headers import Aeth, Bth, Sack
from workloads.wire.icrc import ICRC_BYTES
from workloads.wire.layout import Layout
from workloads.wire.opcodes import OPCODES, Opcode
from workloads.wire.packet import EXTENSIONS

__all__ = [
    "ANSWER", "ANSWER_OPCODE", "BASE", "CHECKSUM_BYTES", "DATA", "NAMED_BY_ADDRESS", "UDP_PORT", "UNRELIABLE_WRITES",
    "DataShape",
]  # fmt: skip

_RC_OPCODES = range(0x20)
UDP_PORT = ROCE_PORT
CHECKSUM_BYTES = ICRC_BYTES
BASE = Bth.LAYOUT
"""header that every packet begins with"""


class DataShape(NamedTuple):
    """A kind of data packet."""

    starts: bool
    ends: bool
    header_bytes: int
    """between the base header and the payload"""


DATA: Mapping[int, DataShape] = MappingProxyType(
    {
        code: DataShape(info.starts, info.ends, sum(EXTENSIONS[name].LAYOUT.size for name in info.extensions))
        for code, info in OPCODES.items()
        if info.is_request and code in _RC_OPCODES
    }
)
"""of reliable connections, by opcode"""
NAMED_BY_ADDRESS = (int(Opcode.WRITE_ONLY), int(Opcode.WRITE_ONLY_IMM))
"""a whole message, or under IRN a later packet of one"""
UNRELIABLE_WRITES = tuple(int(code) for code in Opcode if code.name.startswith("UC_WRITE"))
ANSWER_OPCODE = int(Opcode.IRN_ANSWER)
ANSWER = Layout("IRN answer", *Aeth.LAYOUT.fields, *Sack.LAYOUT.fields)
"""behind the base header of an answer of IRN"""
