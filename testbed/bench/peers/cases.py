"""What is measured: who, between how many hosts, how much, at which loss."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.scenario.protocols.named import protocol_names

__all__ = ["FULL", "OURS", "QUICK", "RATE_BPS", "SUBJECTS", "Grid", "PeerBenchCase", "Sample"]

RATE_BPS = 100_000_000
"""rate of every link"""
OURS = tuple(
    f"{name}{recovery}"
    for name in ("ring", "netreduce") if name in protocol_names() for recovery in ("", "-irn")
)  # fmt: skip
"""our protocols; `-irn`: `transport.recovery: irn`, else go-back-N"""
SUBJECTS = ("gloo", "openmpi", *OURS)
"""subjects in the order of tables; the first two over kernel TCP"""


@dataclass(frozen=True, slots=True)
class PeerBenchCase:
    hosts: int
    size_bytes: int
    """M, of float32"""
    loss: float
    """chance of every frame, on every link, both ways"""

    @property
    def least_s(self) -> float:
        """M/B."""
        return self.size_bytes * 8 / RATE_BPS

    def __str__(self) -> str:
        return f"N={self.hosts}, {self.size_bytes / 1e6:g} MB, {100 * self.loss:g}% loss"


@dataclass(frozen=True, slots=True)
class Grid:
    hosts: tuple[int, ...]
    sizes: tuple[int, ...]
    losses: tuple[float, ...]
    repeats: int


FULL = Grid((4, 8), (16_000_000,), (0.0, 0.01), 3)
QUICK = Grid((4,), (4_000_000,), (0.0, 0.01), 3)


@dataclass(frozen=True, slots=True)
class Sample:
    """One all-reduce."""

    subject: str
    case: PeerBenchCase
    repeat: int
    """number of the repeat, from 1; the seed of its losses and of ours"""
    seconds: float
    lost: int
    """frames"""
    fidelity: str = ""
    """fidelity of our run; empty: kernel TCP, which has no reference run"""
    dilation: int = 1
    deviation: float | None = None
    """deviation of the JCT from that of the reference run; None: there is none"""
    reasons: tuple[str, ...] = ()

    @property
    def multiple(self) -> float:
        """Of M/B."""
        return self.seconds / self.case.least_s
