"""What a strategy costs: memory of a device, and the time of an iteration.

P devices, each with a link of B bytes/s. Of operator i with t, w and a:

| | DP | MP |
|---|---|---|
| compute | t / P | t / P |
| memory | w | w / P |
| all-reduce of | w | a |

An all-reduce of n bytes sends f n bytes of each device; f is 2(P-1)/P of a ring. Between neighbours of different splits
each device sends (P-1)/P of the activations between them. All of these follow one another (protocol text, routing and
jobs, section 7; decided there).
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.errors import ScenarioError
from workloads.strategies.chain import MODEL, Chain, Operator, Strategy

__all__ = ["Devices", "Price", "StrategyPoint", "price_of", "ring_factor", "step"]

_NS_PER_S = 1_000_000_000


def ring_factor(devices: int) -> float:
    """2(P-1)/P: bytes that each device sends for each byte of a vector; hosts alone cannot do with less."""
    return 2 * (devices - 1) / devices


@dataclass(frozen=True, slots=True)
class Devices:
    """Raises ScenarioError for less than two devices, and for a bandwidth that is none."""

    count: int
    """P"""
    bytes_per_s: float
    """B, of payload"""
    all_reduce_factor: float | None = None
    """f; None: that of a ring"""

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ScenarioError(
                "no other device to share with", key="devices", found=str(self.count), allowed="at least 2"
            )
        if not self.bytes_per_s > 0:
            raise ScenarioError("not a bandwidth", key="bandwidth", found=f"{self.bytes_per_s:g}", allowed="above 0")

    @property
    def factor(self) -> float:
        return ring_factor(self.count) if self.all_reduce_factor is None else self.all_reduce_factor

    @property
    def moved(self) -> float:
        """Share of activations that each device sends in a reshard."""
        return (self.count - 1) / self.count


@dataclass(frozen=True, slots=True)
class Price:
    memory_bytes: float
    """bytes of weights on each device"""
    time_s: float
    """time of an iteration"""
    sent_bytes: float
    """bytes that each device sends in an iteration"""

    def dominates(self, other: Price) -> bool:
        """It is no worse in memory and time, and better in one of them."""
        mine, theirs = (self.memory_bytes, self.time_s), (other.memory_bytes, other.time_s)
        return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


@dataclass(frozen=True, slots=True)
class StrategyPoint:
    strategy: Strategy
    price: Price


def price_of(chain: Chain, strategy: Strategy, devices: Devices) -> Price:
    """Raises ScenarioError where the strategy is none of this chain."""
    if len(strategy) != len(chain.operators):
        raise ScenarioError(
            "not a strategy of this chain", key="strategy", found=f"{len(strategy)} operators",
            allowed=str(len(chain.operators)),
        )  # fmt: skip
    price, before, split_before = Price(0.0, 0.0, 0.0), None, ""
    for operator, split in zip(chain.operators, strategy, strict=True):
        price = step(price, before, split_before, operator, split, devices)
        before, split_before = operator, split
    return price


def step(
    price: Price, before: Operator | None, split_before: str, operator: Operator, split: str, devices: Devices
) -> Price:
    """The price of a chain that is one operator longer. `before`: the operator in front of it, None for the first."""
    is_model = split == MODEL
    sent = devices.factor * (operator.activations_bytes if is_model else operator.weights_bytes)
    if before is not None and split != split_before:
        sent += devices.moved * before.activations_bytes
    return Price(
        price.memory_bytes + operator.weights_bytes / (devices.count if is_model else 1),
        price.time_s + operator.compute_ns / _NS_PER_S / devices.count + sent / devices.bytes_per_s,
        price.sent_bytes + sent,
    )
