"""What a worker of any protocol knows of its group, and the shape of its packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["ArithmeticSpec", "Framing", "GroupShare", "JobShare"]


@dataclass(frozen=True, slots=True)
class ArithmeticSpec:
    op: str = "sum"
    """sum, max, xor"""
    dtype: str = "float32"
    """float32, int32 (wraps), int32sat (saturates)"""


class GroupShare(Protocol):
    """What a worker of whatever protocol knows of its group."""

    @property
    def kind(self) -> str:
        """the protocol's name"""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def arithmetic(self) -> ArithmeticSpec: ...


@dataclass(frozen=True, slots=True)
class JobShare:
    """A GroupShare: a worker's place in a job that uses datagrams."""

    kind: str
    """switchml, atp, esa"""
    job: int
    rank: int
    size: int
    arithmetic: ArithmeticSpec = ArithmeticSpec()


@dataclass(frozen=True, slots=True)
class Framing:
    """A full data packet of a protocol."""

    payload_bytes: int
    """bytes of gradient in a packet"""
    frame_bytes: int
    """Ethernet header to the last byte, without FCS"""
