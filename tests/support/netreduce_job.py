"""A NetReduce job as a test sees it: its ring, its frames, its sums."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field, replace

import numpy as np

from switch_nodes.config import RingConfig, RingMember, SwitchConfig
from workloads.collectives.arithmetic import fold
from workloads.collectives.ina_header import DTYPE_CODES, INA_HEADER_BYTES, OP_CODES, InaHeader
from workloads.config import ArithmeticSpec
from workloads.wire import (
    Aeth,
    Bth,
    Envelope,
    ImmDt,
    Opcode,
    Packet,
    Reth,
    encode_packet,
    psn_add,
)

__all__ = ["Job", "small_job"]

_WRITE = {
    (1, 0): Opcode.WRITE_FIRST,
    (0, 0): Opcode.WRITE_MIDDLE,
    (0, 1): Opcode.WRITE_LAST_IMM,
    (1, 1): Opcode.WRITE_ONLY_IMM,
}

_IRN = _WRITE | {(0, 0): Opcode.WRITE_ONLY, (0, 1): Opcode.WRITE_ONLY_IMM}

_SEND = {
    (1, 0): Opcode.SEND_FIRST,
    (0, 0): Opcode.SEND_MIDDLE,
    (0, 1): Opcode.SEND_LAST_IMM,
    (1, 1): Opcode.SEND_ONLY_IMM,
}


def _mac(rank: int) -> bytes:
    return bytes((2, 0, 0, 0, 0, rank + 1))


@dataclass
class Job:
    """One ring of `size` hosts and the messages that they all-reduce; everything follows from the values here."""

    size: int = 3
    lengths: tuple[int, ...] = (1, 4, 4, 4)
    """packets of each message"""
    message_packets: int = 4
    window: int = 2
    mtu: int = 256
    ring_id: int = 7
    arithmetic: ArithmeticSpec = ArithmeticSpec("sum", "int32")
    hello: bool = True
    """message 0 has a header and no elements"""
    tail_bytes: int | None = None
    """bytes of elements in the last packet of every message of several packets; None: full"""
    start_psn: int | None = 0xFFFFFA
    """of rank 0, others are spread; None: 0 for everybody"""
    verb: str = "write"
    ipv6: bool = False
    first_port: int = 0
    base_qpn: int = 0x100
    seed: int = 1
    end_messages: frozenset[int] = field(default_factory=frozenset)
    tos: int = 0x02
    irn: bool = False
    """packets as hosts with IRN send them"""

    def port(self, rank: int) -> int:
        return self.first_port + rank

    def ip(self, rank: int) -> bytes:
        return bytes((10, 0, 0, rank + 1)) if not self.ipv6 else bytes((0xFD, *([0] * 14), rank + 1))

    def ring(self) -> RingConfig:
        members = tuple(RingMember(rank, self.ip(rank), self.port(rank)) for rank in range(self.size))
        ring = RingConfig(self.ring_id, members, self.arithmetic, self.message_packets, self.window, self.mtu)
        return replace(ring, receive_vas=tuple(map(self.receive_va, range(self.size)))) if self.irn else ring

    def receive_va(self, rank: int) -> int:
        """Where the memory of a rank begins, under IRN."""
        return 0x10_0000_0000 * (rank + 1)

    def config(self, **changes: object) -> SwitchConfig:
        macs = tuple((_mac(rank), self.port(rank)) for rank in range(self.size))
        config = SwitchConfig("s1", "netreduce", self.first_port + self.size, macs, (self.ring(),))
        return replace(config, **changes)  # type: ignore[arg-type]

    def qpn(self, rank: int) -> int:
        """destination QPN of connection `rank`"""
        return self.base_qpn + rank

    def first_psn(self, rank: int) -> int:
        return 0 if self.start_psn is None else psn_add(self.start_psn, rank * 0x1111 if rank else 0)

    def psn(self, rank: int, message: int, offset: int) -> int:
        return psn_add(self.first_psn(rank), sum(self.lengths[:message]) + offset)

    def places(self) -> list[tuple[int, int]]:
        """(message, offset) in PSN order"""
        return [(m, off) for m, packets in enumerate(self.lengths) for off in range(packets)]

    def elements(self, rank: int, message: int, offset: int) -> bytes:
        if self.hello and message == 0:
            return b""
        size = self.mtu - (INA_HEADER_BYTES if offset == 0 else 0)
        if self.tail_bytes is not None and 0 < offset == self.lengths[message] - 1:
            size = self.tail_bytes
        draw = random.Random(f"{self.seed} {self.ring_id} {rank} {message} {offset}")
        if self.arithmetic.dtype == "float32":
            return struct.pack(
                f"<{size // 4}f", *(draw.uniform(-1, 1) * 10 ** draw.randint(-6, 6) for _ in range(size // 4))
            )
        return draw.randbytes(size)

    def value(self, message: int, offset: int) -> bytes:
        """what the switch must send in place of anybody's elements"""
        rows = [np.frombuffer(self.elements(rank, message, offset), np.uint8) for rank in range(self.size)]
        return fold(np.stack(rows), self.arithmetic).tobytes()

    def header(self, rank: int, message: int, /, **changes: object) -> bytes:
        header = InaHeader(
            self.ring_id, rank, self.size, message, self.lengths[message],
            OP_CODES[self.arithmetic.op], DTYPE_CODES[self.arithmetic.dtype], message in self.end_messages,
        )  # fmt: skip
        return replace(header, **changes).encode()  # type: ignore[arg-type]

    def packet(self, rank: int, message: int, offset: int, *, header: bytes | None = None, **bth: int) -> Packet:
        """Packet `offset` of `message` as rank `rank` sends it; keyword arguments replace fields of the BTH."""
        starts, ends = offset == 0, offset == self.lengths[message] - 1
        opcode = (_IRN if self.irn else _WRITE if self.verb == "write" else _SEND)[starts, ends]
        payload = self.elements(rank, message, offset)
        if starts:
            payload = (self.header(rank, message) if header is None else header) + payload
        peer = (rank + 1) % self.size
        envelope = Envelope(
            _mac(rank), _mac(peer), self.ip(rank), self.ip(peer), sport=0xC000 + rank, tos=self.tos,
            ident=0 if self.ipv6 else (37 * message + offset) & 0xFFFF,
        )  # fmt: skip
        fields = {
            "opcode": int(opcode), "dest_qpn": self.qpn(rank), "psn": self.psn(rank, message, offset),
            "ack_req": int(ends),
        } | bth  # fmt: skip
        reth = Reth(0x1000 * message, 0x5000 + rank, 999) if starts and self.verb == "write" else None
        if self.irn:
            place = message * self.message_packets + offset
            last = len(self.elements(rank, message, self.lengths[message] - 1))
            length = (
                (self.lengths[message] - 1) * self.mtu + last + (INA_HEADER_BYTES if self.lengths[message] == 1 else 0)
            )
            reth = Reth(self.receive_va(peer) + place * self.mtu, 0x5000 + rank, length)
        return Packet(envelope, Bth(**fields), payload, reth=reth, imm=ImmDt(message) if ends else None)

    def frame(self, rank: int, message: int, offset: int, **changes: object) -> bytes:
        return encode_packet(self.packet(rank, message, offset, **changes))  # type: ignore[arg-type]

    def result(self, rank: int, message: int, offset: int) -> bytes:
        """what must leave on connection `rank` when nothing was marked"""
        packet = self.packet(rank, message, offset)
        kept = bytes(packet.payload[:INA_HEADER_BYTES]) if offset == 0 else b""
        return encode_packet(replace(packet, payload=kept + self.value(message, offset)))

    def answer(self, rank: int, psn: int, msn: int, syndrome: int = 0x1F) -> bytes:
        """ACK or NAK of the receiver of connection `rank`, towards its sender"""
        peer = (rank + 1) % self.size
        envelope = Envelope(_mac(peer), _mac(rank), self.ip(peer), self.ip(rank), sport=0xC000 + peer)
        return encode_packet(Packet(envelope, Bth(Opcode.ACKNOWLEDGE, 0x9000 + rank, psn), aeth=Aeth(syndrome, msn)))


def small_job(**changes: object) -> Job:
    return replace(Job(), **changes)  # type: ignore[arg-type]
