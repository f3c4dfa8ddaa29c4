"""The INA header: the first 16 bytes of every NetReduce message (`docs/netreduce.md`, "Packet layout").

NIC hardware builds all headers below, so the host library writes this one into the message's own buffer. The initial
packet says whether to aggregate and which message it is. This comes from the authors' patent (CN113141330A, US
12,568,158 B2). Widths and order are decided here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from workloads.config import ArithmeticSpec
from workloads.machine import Buffer
from workloads.wire.layout import Field, Layout, WireError, packer_of

__all__ = [
    "DTYPE_CODES",
    "INA_HEADER_BYTES",
    "INA_LAYOUT",
    "INA_MAGIC",
    "INA_VERSION",
    "MAX_GROUP",
    "MAX_MEMBERS",
    "MIN_GROUP",
    "OP_CODES",
    "InaHeader",
    "InaHeaders",
]

INA_MAGIC, INA_VERSION = 0xA7, 1
MIN_GROUP, MAX_GROUP = 2, 1024
"""ranks in one ring"""
MAX_MEMBERS = 64
"""connections of a ring that one switch adds: bits of the set of a slot"""
OP_CODES: dict[str, int] = {"sum": 0, "max": 1, "xor": 2}
DTYPE_CODES: dict[str, int] = {"float32": 0, "int32": 1, "int32sat": 2}

INA_LAYOUT = Layout(
    "INA header",
    Field("magic", 8, "0xA7"),
    Field("version", 8, "1"),
    Field("op", 4, "0 sum, 1 max, 2 xor"),
    Field("dtype", 4, "0 float32, 1 int32, 2 int32sat"),
    Field("flags", 6, "0"),
    Field("end", 1, "last message of the collective"),
    Field("agg", 1, "aggregate"),
    Field("ring_id", 16, "installed ring"),
    Field("rank", 8, "k, lower half"),
    Field("size", 8, "P, lower half"),
    Field("msg_id", 32, "the message: 0, 1, 2, ... since the ring was installed"),
    Field("msg_len_pkts", 16, "its packets, 1 .. L"),
    Field("rank_high", 8, "upper half: 0 up to 255"),
    Field("size_high", 8, "upper half"),
    source="decided here (docs/netreduce.md)",
)
INA_HEADER_BYTES = INA_LAYOUT.size
_WORDS = packer_of(INA_LAYOUT.words(("op", "dtype"), ("flags", "agg")))
_MSG_ID_AT, _MAX_MSG_ID = INA_LAYOUT.place("msg_id")
_PACKETS_AT, _MAX_PACKETS = INA_LAYOUT.place("msg_len_pkts")
_END_AT, _ = INA_LAYOUT.place("end")
_OP_NAMES = {code: name for name, code in OP_CODES.items()}
_DTYPE_NAMES = {code: name for name, code in DTYPE_CODES.items()}


@dataclass(frozen=True, slots=True)
class InaHeader:
    """One message's header; integers are big-endian on the wire."""

    ring_id: int
    rank: int
    size: int
    msg_id: int
    msg_len_pkts: int
    op: int = 0
    """a value of `OP_CODES`"""
    dtype: int = 0
    """a value of `DTYPE_CODES`"""
    end: bool = False
    agg: bool = True

    @classmethod
    def decode(cls, data: Buffer, offset: int = 0) -> Self:
        """Raises WireError when `data` ends too early, or magic or version is not ours."""
        if len(data) - offset < INA_HEADER_BYTES:
            INA_LAYOUT.unpack(data, offset)  # raises
        magic, version, codes, flags, ring, rank, size, message, packets, rank_high, size_high = _WORDS.unpack_from(
            data, offset
        )
        if magic != INA_MAGIC or version != INA_VERSION:
            raise WireError(f"no INA header of version {INA_VERSION}: {magic:#04x} {version}")
        return cls(
            ring, rank_high << 8 | rank, size_high << 8 | size, message, packets, codes >> 4, codes & 15,
            flags & 2 != 0, flags & 1 != 0,
        )  # fmt: skip

    def encode(self) -> bytes:
        """Raises WireError when a value does not fit its field."""
        return INA_LAYOUT.pack(
            magic=INA_MAGIC,
            version=INA_VERSION,
            op=self.op,
            dtype=self.dtype,
            flags=0,
            end=int(self.end),
            agg=int(self.agg),
            ring_id=self.ring_id,
            rank=self.rank & 0xFF,
            size=self.size & 0xFF,
            msg_id=self.msg_id,
            msg_len_pkts=self.msg_len_pkts,
            rank_high=self.rank >> 8,
            size_high=self.size >> 8,
        )

    @property
    def arithmetic(self) -> ArithmeticSpec | None:
        """What the codes mean; None when we do not know one of them."""
        op, dtype = _OP_NAMES.get(self.op), _DTYPE_NAMES.get(self.dtype)
        return None if op is None or dtype is None else ArithmeticSpec(op, dtype)


class InaHeaders:
    """The headers of one rank's messages: what they share is encoded once."""

    def __init__(self, header: InaHeader) -> None:
        """`header`: any message's."""
        self._header = header
        self._template = int.from_bytes(replace(header, msg_id=0, msg_len_pkts=0, end=False).encode(), "big")

    def encode(self, msg_id: int, msg_len_pkts: int, end: bool) -> bytes:
        """As `InaHeader.encode`."""
        if not (0 <= msg_id <= _MAX_MSG_ID and 0 <= msg_len_pkts <= _MAX_PACKETS):
            return replace(self._header, msg_id=msg_id, msg_len_pkts=msg_len_pkts, end=end).encode()  # raises
        number = self._template | msg_id << _MSG_ID_AT | msg_len_pkts << _PACKETS_AT | end << _END_AT
        return number.to_bytes(INA_HEADER_BYTES, "big")
