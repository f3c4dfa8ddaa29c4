"""A message to send, cut into packets when they leave: the gather list is never copied as a whole."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from workloads.machine import Buffer
from workloads.transports.messages import SendRequest
from workloads.wire import ImmDt, Opcode, Reth

__all__ = ["MAX_MESSAGE_BYTES", "OutMessage", "RequestPacket", "SendPlan"]

_new = tuple.__new__
"""makes a named tuple without its constructor"""
MAX_MESSAGE_BYTES = 1 << 31
"""IBTA vol. 1, 9.3.5.3"""

# (is WRITE, has immediate data) -> opcodes of FIRST, MIDDLE, LAST, ONLY (IBTA vol. 1, table 38).
_OPCODES: dict[tuple[bool, bool], tuple[Opcode, Opcode, Opcode, Opcode]] = {
    (False, False): (Opcode.SEND_FIRST, Opcode.SEND_MIDDLE, Opcode.SEND_LAST, Opcode.SEND_ONLY),
    (False, True): (Opcode.SEND_FIRST, Opcode.SEND_MIDDLE, Opcode.SEND_LAST_IMM, Opcode.SEND_ONLY_IMM),
    (True, False): (Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE, Opcode.WRITE_LAST, Opcode.WRITE_ONLY),
    (True, True): (Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE, Opcode.WRITE_LAST_IMM, Opcode.WRITE_ONLY_IMM),
}


class RequestPacket(NamedTuple):
    """One request packet on its way to the wire."""

    opcode: Opcode
    psn: int
    ack_req: bool
    extensions: bytes
    """RETH and ImmDt as on the wire"""
    payload: Buffer


class SendPlan(NamedTuple):
    """A posted message as the fast path wants it."""

    octets: bytes
    """`struct rc_plan`, which points into the segments of its message"""
    address: int
    row_bytes: int
    """length of the longest frame"""


class OutMessage:
    """One posted message and the PSNs that it takes."""

    __slots__ = ("_starts", "end", "first", "imm", "length", "mtu", "opcodes", "plan", "reth", "segments", "wr_id")

    def __init__(self, request: SendRequest, first: int, mtu: int) -> None:
        """`first` is the sequence number of the first packet (not wrapped). Raises ValueError for a message that is too
        long or a value that does not fit its field, TypeError for a segment that is not contiguous."""
        self.plan: SendPlan | None = None
        """the fast path fills it"""
        self.segments = tuple(memoryview(s).cast("B") for s in request.segments if memoryview(s).nbytes)
        self._starts: list[int] = []
        length = 0
        for segment in self.segments:
            self._starts.append(length)
            length += len(segment)
        if length > MAX_MESSAGE_BYTES:
            raise ValueError(f"a message of {length} bytes is longer than {MAX_MESSAGE_BYTES}")
        self.mtu = mtu
        # As on the wire.
        self.imm = b"" if request.imm is None else ImmDt(request.imm).encode()
        self.reth = b""
        if request.remote_va is not None:
            self.reth = Reth(request.remote_va, request.rkey, length).encode()
        self.wr_id, self.length, self.first = request.wr_id, length, first
        self.end = first + max(1, -(-length // mtu))
        """sequence number behind the last packet"""
        self.opcodes = _OPCODES[request.remote_va is not None, request.imm is not None]

    def payload(self, index: int) -> Buffer:
        """Bytes of packet `index`: a view where they lie in one segment."""
        start, stop = index * self.mtu, min((index + 1) * self.mtu, self.length)
        if stop <= start:
            return b""
        at = bisect_right(self._starts, start) - 1
        begin = self._starts[at]
        view = self.segments[at][start - begin : stop - begin]
        missing = stop - start - len(view)
        if not missing:
            return view
        parts = [view]
        while missing:
            at += 1
            view = self.segments[at][:missing]
            parts.append(view)
            missing -= len(view)
        return b"".join(parts)

    def packet(self, sequence: int, psn: int, ack_req: bool) -> RequestPacket:
        """The packet with that sequence number; `psn` is its wrapped form."""
        first, middle, last, only = self.opcodes
        starts, ends = sequence == self.first, sequence == self.end - 1
        opcode = (only if ends else first) if starts else (last if ends else middle)
        extensions = (self.reth if starts else b"") + (self.imm if ends else b"")
        return _new(RequestPacket, (opcode, psn, ack_req, extensions, self.payload(sequence - self.first)))
