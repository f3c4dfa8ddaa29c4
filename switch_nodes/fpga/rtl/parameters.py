"""Sizes of the hardware, fixed when it is generated."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from switch_nodes.fpga.regmap import MAX_MACS, MAX_PORTS, MAX_RINGS
from workloads.collectives.ina_header import MAX_MEMBERS
from workloads.errors import ScenarioError

__all__ = ["HEADER_BYTES", "LARGE", "SIMULATED", "SMALL", "RtlParameters"]

HEADER_BYTES = 128
"""bytes kept of a frame's beginning; the longest header has 110"""
_WIDTHS = (64, 512)
_LIMITS = {
    "ports": (1, MAX_PORTS), "rings": (1, MAX_RINGS), "members": (2, MAX_MEMBERS), "macs": (1, MAX_MACS),
    "learnt": (1, 4096), "plain": (1, 4096), "slots": (1, 1 << 24), "window": (1, 31), "mtu": (256, 4096),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RtlParameters:
    """All of them are constants of the Verilog. Raises ScenarioError for a size that the design cannot have."""

    width: int = 64
    """bits of a data port"""
    ports: int = 8
    rings: int = 4
    members: int = 8
    """members of one ring at most; a power of two"""
    slots: int = 1024
    """slots of all rings together"""
    mtu: int = 1024
    """largest path MTU in bytes, a power of two"""
    window: int = 16
    """largest WINDOW of a ring, in messages"""
    macs: int = 64
    """static forwarding entries"""
    learnt: int = 64
    """source addresses that are learnt"""
    plain: int = 16
    """remembered connections without INA header on the edges of rings"""
    floats: bool = True
    """whether float32 is built in"""
    planted: bool = False
    """whether the design has planted bugs and a pin that selects one (`plants`), for tests of the tests"""

    def __post_init__(self) -> None:
        if self.width not in _WIDTHS:
            raise ScenarioError("width of the card's data ports", found=str(self.width), allowed="64, 512")
        for name, (low, high) in _LIMITS.items():
            if not low <= getattr(self, name) <= high:
                raise ScenarioError(f"{name} of the card", found=str(getattr(self, name)), allowed=f"{low} .. {high}")
        for name in ("members", "mtu"):
            value = getattr(self, name)
            if value & (value - 1):
                raise ScenarioError(f"{name} of the card", found=str(value), allowed="a power of two")

    @property
    def beat(self) -> int:
        """Bytes of a beat."""
        return self.width // 8

    @property
    def frame_words(self) -> int:
        """Words of one frame buffer, a power of two."""
        words = -(-(self.mtu + 256) // self.beat)
        return 1 << max(words - 1, 1).bit_length()

    @property
    def max_frame(self) -> int:
        """Bytes of the longest frame that passes."""
        return self.frame_words * self.beat

    @property
    def payload_words(self) -> int:
        """Words of one payload in a slot."""
        return self.mtu // self.beat

    @property
    def key(self) -> str:
        """Name of this set of sizes, for caches."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


SMALL = RtlParameters(ports=2, rings=1, members=2, slots=64, mtu=256, window=2, macs=4, learnt=4, plain=2, floats=False)
"""fits an ECP5"""
SIMULATED = RtlParameters()
"""for simulation: the racks among the built-in scenarios"""
LARGE = RtlParameters(width=512, ports=4, rings=4, members=8, slots=512, mtu=1024, window=8, macs=64)
"""for a part with ports of 512 bits and 45 Mbit of block RAM"""
