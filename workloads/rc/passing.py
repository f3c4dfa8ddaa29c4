"""Data packets of reliable connections, as a switch reads them that they pass.

Rule 1: a switch asks for one thing after the other: addresses, then the iCRC, then the rest. So it pays for no more
than it needs.
Rule 2: nothing here raises for what a peer sent.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import cython

from workloads.machine import Buffer
from workloads.wire.envelope import ETHERNET, Envelope, decode_envelope
from workloads.wire.headers import Bth, Reth
from workloads.wire.icrc import ICRC_BYTES
from workloads.wire.layout import WireError
from workloads.wire.opcodes import OPCODES, OpcodeInfo
from workloads.wire.packet import EXTENSIONS, continues
from workloads.wire.trimming import TRIMMED_DSCP, trimmed_icrc

if not cython.compiled:
    from workloads.kernels import get8, get32
    from workloads.wire.icrc import icrc_holds

__all__ = ["PassingData", "PassingFrame", "Wholeness", "read_passing"]

_RC_OPCODES = range(0x20)
_IP_AT, _BTH_BYTES, _ICRC_BYTES = ETHERNET.size, Bth.LAYOUT.size, ICRC_BYTES
_RETH = Reth.LAYOUT.packer()


def _table(of: Callable[[OpcodeInfo], int]) -> bytes:
    """By opcode; 0 where it is no SEND or WRITE of a reliable connection."""
    data = {code: info for code, info in OPCODES.items() if info.is_request and code in _RC_OPCODES}
    return bytes(of(data[code]) if code in data else 0 for code in range(256))


_IS_DATA = _table(lambda info: 1)
_EXTENDED = _table(lambda info: sum(EXTENSIONS[name].LAYOUT.size for name in info.extensions))
_STARTS, _ENDS = _table(lambda info: info.starts), _table(lambda info: info.ends)
_HAS_RETH, _HAS_IMM = (_table(lambda info, name=name: name in info.extensions) for name in ("reth", "imm"))  # type: ignore[misc]
"""where there is a RETH, it stands right behind the BTH"""


class Wholeness(Enum):
    """What the iCRC of a frame says."""

    WHOLE = "the right iCRC"
    TRIMMED = "the iCRC of headers that a full queue cut"
    DAMAGED = "a wrong iCRC"


_WHOLE, _DAMAGED = Wholeness.WHOLE, Wholeness.DAMAGED


class PassingData:
    """A SEND or WRITE packet of a reliable connection."""

    __slots__ = ("connection", "ends", "has_immediate", "is_padded", "may_start", "payload", "payload_at", "psn", "qpn",
                 "starts", "target")  # fmt: skip

    qpn: int
    """queue pair of the receiver"""
    psn: int
    payload: Buffer
    """without pad; part of the frame"""
    payload_at: int
    """byte of the frame where the payload begins"""
    may_start: bool
    """FIRST or ONLY"""
    ends: bool
    """LAST or ONLY"""
    starts: bool
    """it is the first of its message, if the connection uses IRN"""
    connection: tuple[bytes, bytes, int]
    """(source IP, destination IP, destination QPN)"""
    is_padded: bool
    """whether the payload is no whole number of words of 32 bits"""
    has_immediate: bool
    target: tuple[int, int] | None
    """(remote address, bytes of the message) of a WRITE that says so"""


class PassingFrame:
    """A RoCE v2 frame that has a whole BTH."""

    __slots__ = ("_at", "_end", "_envelope", "_frame", "is_data")

    def __init__(self, frame: bytes, envelope: Envelope, at: int, end: int) -> None:
        self._frame, self._envelope, self._at, self._end = frame, envelope, at, end
        self.is_data = bool(_IS_DATA[get8(frame, at)])
        """a SEND or WRITE of a reliable connection"""

    @property
    def addresses(self) -> tuple[bytes, bytes]:
        """(source IP, destination IP)"""
        return self._envelope.src_ip, self._envelope.dst_ip

    def wholeness(self) -> Wholeness:
        frame, end = self._frame, self._end
        if icrc_holds(frame, end):
            return _WHOLE
        if self._envelope.tos >> 2 != TRIMMED_DSCP:
            return _DAMAGED
        last = end - _ICRC_BYTES
        is_cut = frame[last:end] == trimmed_icrc(frame[_IP_AT:last])
        return Wholeness.TRIMMED if is_cut else _DAMAGED

    def data(self) -> PassingData | None:
        """None: its lengths contradict each other. For `is_data`."""
        frame, at, end = self._frame, self._at, self._end
        opcode, pad = get8(frame, at), get8(frame, at + 1) >> 4 & 3
        payload_at, payload_end = at + _BTH_BYTES + get8(_EXTENDED, opcode), end - _ICRC_BYTES - pad
        if payload_end < payload_at:
            return None
        made = PassingData()
        made.qpn, made.psn = get32(frame, at + 4) & 0xFFFFFF, get32(frame, at + 8) & 0xFFFFFF
        made.connection = self._envelope.src_ip, self._envelope.dst_ip, made.qpn
        made.payload, made.payload_at = memoryview(frame)[payload_at:payload_end], payload_at
        made.may_start, made.ends = get8(_STARTS, opcode) != 0, get8(_ENDS, opcode) != 0
        made.starts, made.target = made.may_start, None
        made.is_padded, made.has_immediate = pad != 0, get8(_HAS_IMM, opcode) != 0
        if get8(_HAS_RETH, opcode):
            address, _, length = _RETH.unpack_from(frame, at + _BTH_BYTES)
            made.target = address, length
            made.starts = made.may_start and not continues(opcode, length, payload_end - payload_at)
        return made


def read_passing(frame: Buffer) -> PassingFrame | None:
    """None: not RoCE v2, or it cannot be read."""
    whole = bytes(frame)
    try:
        found = decode_envelope(whole)
    except WireError:
        return None
    if found is None or found[2] - found[1] < _BTH_BYTES:
        return None
    return PassingFrame(whole, found[0], found[1], found[2])
