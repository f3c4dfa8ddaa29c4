"""The UC requester: messages cut into packets with the PSNs of their queue pair. It keeps nothing: what is lost stays
lost, and who wants it again sends a message of its own, with new PSNs."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.config import QpConfig
from workloads.rc.outbound import FrameWriter
from workloads.transports.messages import SendRequest
from workloads.wire import PSN_MASK, Opcode, Reth, psn_add
from workloads.wire.headers import ImmDt

__all__ = ["UcSender"]

_RETH, _IMM = Reth.LAYOUT.packer(), ImmDt.LAYOUT.packer()


class UcSender:
    """`psn` is that of the next packet."""

    def __init__(self, config: QpConfig) -> None:
        self._mtu = config.path_mtu
        self._writer = FrameWriter(config.envelope, config.peer_qpn)
        self.psn = config.first_psn & PSN_MASK

    def frames(self, request: SendRequest) -> Iterator[bytes]:
        """The Ethernet frames of one RDMA WRITE, each with its iCRC; they must leave in this order."""
        segments, mtu = request.segments, self._mtu
        payload = memoryview(segments[0] if len(segments) == 1 else b"".join(segments))
        imm = b"" if request.imm is None else _IMM.pack(request.imm)
        reth = _RETH.pack(request.remote_va, request.rkey, len(payload))
        if len(payload) <= mtu:
            yield self._frame(Opcode.UC_WRITE_ONLY_IMM if imm else Opcode.UC_WRITE_ONLY, reth + imm, payload)
            return
        yield self._frame(Opcode.UC_WRITE_FIRST, reth, payload[:mtu])
        last = (len(payload) - 1) // mtu * mtu
        for at in range(mtu, last, mtu):
            yield self._frame(Opcode.UC_WRITE_MIDDLE, b"", payload[at : at + mtu])
        yield self._frame(Opcode.UC_WRITE_LAST_IMM if imm else Opcode.UC_WRITE_LAST, imm, payload[last:])

    def _frame(self, opcode: int, extensions: bytes, payload: memoryview) -> bytes:
        psn, self.psn = self.psn, psn_add(self.psn, 1)
        return self._writer.write(opcode, psn, False, extensions, payload)
