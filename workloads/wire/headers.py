"""Transport headers of RoCE v2 as layout tables and frozen values (IBTA vol. 1 ch. 9; kernel rxe_hdr.h, ib_pack.h)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from workloads.machine import Buffer
from workloads.wire.layout import Field, Layout, packer_of

__all__ = ["BTH_WORDS", "Aeth", "AtomicAckEth", "AtomicEth", "Bth", "Deth", "Header", "Ieth", "ImmDt", "Reth", "Sack"]

_IBTA = "IBTA vol. 1, chapter 9"


class Header:
    """A header value: its fields are those of `LAYOUT`, by name."""

    LAYOUT: ClassVar[Layout]
    __slots__ = ()

    @classmethod
    def decode(cls, data: Buffer, offset: int = 0) -> Self:
        """Raises WireError when `data` ends too early."""
        return cls(**cls.LAYOUT.unpack(data, offset))

    def encode(self) -> bytes:
        """Raises WireError when a value does not fit."""
        return self.LAYOUT.pack(**{field.name: getattr(self, field.name) for field in self.LAYOUT.fields})


@dataclass(frozen=True, slots=True)
class Bth(Header):
    """Base transport header, 12 bytes."""

    LAYOUT: ClassVar[Layout] = Layout(
        "BTH",
        Field("opcode", 8, "operation and position in the message"),
        Field("solicited", 1, "SE"),
        Field("migreq", 1, "migration state"),
        Field("pad", 2, "bytes added to reach a multiple of four"),
        Field("tver", 4, "transport version, 0"),
        Field("pkey", 16, "partition key"),
        Field("fecn", 1, "forward congestion notification"),
        Field("becn", 1, "backward congestion notification"),
        Field("resv6", 6, "reserved, outside the iCRC"),
        Field("dest_qpn", 24, "queue pair at the destination"),
        Field("ack_req", 1, "the requester wants an ACK"),
        Field("resv7", 7, "reserved"),
        Field("psn", 24, "packet sequence number"),
        source=_IBTA,
    )
    opcode: int
    dest_qpn: int
    psn: int
    ack_req: int = 0
    pad: int = 0
    solicited: int = 0
    migreq: int = 0
    tver: int = 0
    pkey: int = 0xFFFF
    fecn: int = 0
    becn: int = 0
    resv6: int = 0
    resv7: int = 0

    def encode(self) -> bytes:
        """As `Header.encode`, without a step per field where all values fit."""
        flags = self.solicited | self.migreq | self.fecn | self.becn | self.ack_req
        if (
            flags >> 1 | self.opcode >> 8 | self.pad >> 2 | self.tver >> 4 | self.pkey >> 16 | self.dest_qpn >> 24
            | self.psn >> 24 | self.resv6 >> 6 | self.resv7 >> 7
        ):  # fmt: skip
            return Header.encode(self)  # raises
        return _BTH.pack(
            self.opcode, self.solicited << 7 | self.migreq << 6 | self.pad << 4 | self.tver, self.pkey,
            self.fecn << 31 | self.becn << 30 | self.resv6 << 24 | self.dest_qpn,
            self.ack_req << 31 | self.resv7 << 24 | self.psn,
        )  # fmt: skip

    @classmethod
    def decode(cls, data: Buffer, offset: int = 0) -> Self:
        """As `Header.decode`, without a step per field: every packet has one."""
        if offset + _BTH.size > len(data):
            cls.LAYOUT.unpack(data, offset)  # raises
        opcode, flags, pkey, qpn, psn = _BTH.unpack_from(data, offset)
        return cls(
            opcode, qpn & 0xFFFFFF, psn & 0xFFFFFF, psn >> 31, flags >> 4 & 3, flags >> 7, flags >> 6 & 1, flags & 15,
            pkey, qpn >> 31, qpn >> 30 & 1, qpn >> 24 & 0x3F, psn >> 24 & 0x7F,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reth(Header):
    """RDMA extended transport header, 16 bytes."""

    LAYOUT: ClassVar[Layout] = Layout(
        "RETH",
        Field("va", 64, "remote virtual address"),
        Field("rkey", 32, "remote key"),
        Field("length", 32, "bytes of the whole message"),
        source=_IBTA,
    )
    va: int
    rkey: int
    length: int

    def encode(self) -> bytes:
        """As `Header.encode`, without a step per field where all values fit: every WRITE has one."""
        if self.va >> 64 or self.rkey >> 32 or self.length >> 32:
            return Header.encode(self)  # raises
        return _RETH.pack(self.va, self.rkey, self.length)


@dataclass(frozen=True, slots=True)
class ImmDt(Header):
    """Immediate data, 4 bytes."""

    LAYOUT: ClassVar[Layout] = Layout("ImmDt", Field("value", 32, "immediate data"), source=_IBTA)
    value: int

    def encode(self) -> bytes:
        """As `Header.encode`, likewise."""
        return Header.encode(self) if self.value >> 32 else _IMM.pack(self.value)


BTH_WORDS = Bth.LAYOUT.words(("solicited", "tver"), ("fecn", "dest_qpn"), ("ack_req", "psn"))
"""five numbers: opcode; SE, M, pad, TVer; P_Key; FECN .. destination QPN; AckReq .. PSN"""
_BTH, _RETH, _IMM = packer_of(BTH_WORDS), Reth.LAYOUT.packer(), ImmDt.LAYOUT.packer()


@dataclass(frozen=True, slots=True)
class Aeth(Header):
    """ACK extended transport header, 4 bytes; `workloads.wire.syndrome` reads the syndrome."""

    LAYOUT: ClassVar[Layout] = Layout(
        "AETH",
        Field("syndrome", 8, "ACK, RNR NAK or NAK"),
        Field("msn", 24, "completed request messages"),
        source=_IBTA,
    )
    syndrome: int
    msn: int


@dataclass(frozen=True, slots=True)
class Deth(Header):
    """Datagram extended transport header, 8 bytes."""

    LAYOUT: ClassVar[Layout] = Layout(
        "DETH",
        Field("qkey", 32, "queue key"),
        Field("resv", 8, "reserved"),
        Field("source_qpn", 24, "sender's QP"),
        source=_IBTA,
    )
    qkey: int
    source_qpn: int
    resv: int = 0


@dataclass(frozen=True, slots=True)
class AtomicEth(Header):
    """Atomic extended transport header, 28 bytes."""

    LAYOUT: ClassVar[Layout] = Layout(
        "AtomicETH",
        Field("va", 64, "remote virtual address"),
        Field("rkey", 32, "remote key"),
        Field("swap_add", 64, "swap or add operand"),
        Field("compare", 64, "compare operand"),
        source=_IBTA,
    )
    va: int
    rkey: int
    swap_add: int
    compare: int


@dataclass(frozen=True, slots=True)
class AtomicAckEth(Header):
    """Atomic ACK extended transport header, 8 bytes."""

    LAYOUT: ClassVar[Layout] = Layout("AtomicAckETH", Field("original", 64, "value before the operation"), source=_IBTA)
    original: int


@dataclass(frozen=True, slots=True)
class Ieth(Header):
    """Invalidate extended transport header, 4 bytes."""

    LAYOUT: ClassVar[Layout] = Layout("IETH", Field("rkey", 32, "key to invalidate"), source=_IBTA)
    rkey: int


@dataclass(frozen=True, slots=True)
class Sack(Header):
    """Behind the AETH of an IRN answer, 8 bytes (decided here: `docs/irn.md`)."""

    LAYOUT: ClassVar[Layout] = Layout(
        "SACK",
        Field("cumulative", 32, "next expected PSN"),
        Field("selective", 32, "PSN of the packet that is answered"),
        source="decided here (docs/irn.md)",
    )
    cumulative: int
    selective: int
