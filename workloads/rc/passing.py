"""Data packets of reliable connections, as a switch reads them that they pass.

Rule 1: a switch asks for one thing after the other: addresses, then the iCRC, then the rest. So it pays for no more
than it needs.
Rule 2: nothing here raises for what a peer sent.
"""

from __future__ import annotations

from enum import Enum

from workloads.machine import Buffer
from workloads.wire.envelope import ETHERNET, Envelope, decode_envelope
from workloads.wire.headers import Bth
from workloads.wire.icrc import ICRC_BYTES, icrc_of
from workloads.wire.layout import WireError
from workloads.wire.opcodes import OPCODES
from workloads.wire.packet import Packet, decode_transport
from workloads.wire.trimming import TRIMMED_DSCP, trimmed_icrc

__all__ = ["PassingData", "PassingFrame", "Wholeness", "read_passing"]

_RC_OPCODES = range(0x20)


class Wholeness(Enum):
    """What the iCRC of a frame says."""

    WHOLE = "the right iCRC"
    TRIMMED = "the iCRC of headers that a full queue cut"
    DAMAGED = "a wrong iCRC"


class PassingData:
    """A SEND or WRITE packet of a reliable connection."""

    __slots__ = ("_packet", "ends", "may_start", "payload", "payload_at", "psn", "qpn")

    def __init__(self, packet: Packet, payload_at: int) -> None:
        self._packet = packet
        self.qpn, self.psn = packet.bth.dest_qpn, packet.bth.psn
        """queue pair of the receiver; sequence number"""
        self.payload = packet.payload
        """without pad; part of the frame"""
        self.payload_at = payload_at
        """byte of the frame where the payload begins"""
        info = packet.info
        self.may_start, self.ends = info.starts, info.ends
        """FIRST or ONLY; LAST or ONLY"""

    @property
    def starts(self) -> bool:
        """It is the first of its message, if the connection uses IRN."""
        return self._packet.starts

    @property
    def connection(self) -> tuple[bytes, bytes, int]:
        """(source IP, destination IP, destination QPN)"""
        return self._packet.connection

    @property
    def is_padded(self) -> bool:
        """Whether the payload is no whole number of words of 32 bits."""
        return self._packet.bth.pad != 0

    @property
    def has_immediate(self) -> bool:
        return self._packet.imm is not None

    @property
    def target(self) -> tuple[int, int] | None:
        """(remote address, bytes of the message) of a WRITE that says so."""
        reth = self._packet.reth
        return None if reth is None else (reth.va, reth.length)


class PassingFrame:
    """A RoCE v2 frame that has a whole BTH."""

    __slots__ = ("_at", "_bth", "_end", "_envelope", "_frame", "is_data")

    def __init__(self, frame: Buffer, envelope: Envelope, bth: Bth, at: int, end: int) -> None:
        self._frame, self._envelope, self._bth, self._at, self._end = frame, envelope, bth, at, end
        info = OPCODES.get(bth.opcode)
        self.is_data = info is not None and info.is_request and bth.opcode in _RC_OPCODES
        """a SEND or WRITE of a reliable connection"""

    @property
    def addresses(self) -> tuple[bytes, bytes]:
        """(source IP, destination IP)"""
        return self._envelope.src_ip, self._envelope.dst_ip

    def wholeness(self) -> Wholeness:
        view, last = memoryview(self._frame), self._end - ICRC_BYTES
        covered, found = view[ETHERNET.size : last], bytes(view[last : self._end])
        if found == icrc_of(covered):
            return Wholeness.WHOLE
        is_cut = self._envelope.tos >> 2 == TRIMMED_DSCP and found == trimmed_icrc(covered)
        return Wholeness.TRIMMED if is_cut else Wholeness.DAMAGED

    def data(self) -> PassingData | None:
        """None: its lengths contradict each other. For `is_data`."""
        try:
            packet = decode_transport(self._frame, self._envelope, self._bth, self._at, self._end)
        except WireError:
            return None
        return PassingData(packet, self._end - ICRC_BYTES - self._bth.pad - len(packet.payload))


def read_passing(frame: Buffer) -> PassingFrame | None:
    """None: not RoCE v2, or it cannot be read."""
    try:
        found = decode_envelope(frame)
        bth = None if found is None else Bth.decode(memoryview(frame)[: found[2]], found[1])
    except WireError:
        return None
    return None if found is None or bth is None else PassingFrame(frame, found[0], bth, found[1], found[2])
