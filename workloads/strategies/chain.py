"""A model as a chain of operators. Several devices share each operator in one of two ways.

The chain and its costs are ours (`docs/strategies.md`). That strategies trade memory against time is a finding of FT
(TensorOpt). FT's own cost model was not open to us.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.errors import ScenarioError

__all__ = ["DATA", "MODEL", "SPLITS", "Chain", "Operator", "Strategy", "parse_strategy", "show_strategy"]

DATA, MODEL = "DP", "MP"
SPLITS = (DATA, MODEL)
"""DP: each device has all weights and a part of the batch; MP: a part of the weights and all of the batch"""

Strategy = tuple[str, ...]
"""one of SPLITS for each operator, in the order of the chain"""


@dataclass(frozen=True, slots=True)
class Operator:
    name: str
    weights_bytes: int
    """w: of its parameters, and so of their gradient"""
    activations_bytes: int
    """a: of what it hands to the next operator, for the whole batch"""
    compute_ns: int = 0
    """t: on one device"""


@dataclass(frozen=True, slots=True)
class Chain:
    name: str
    operators: tuple[Operator, ...]
    """operators in the order of the forward pass, one or more"""

    @property
    def weights_bytes(self) -> int:
        return sum(operator.weights_bytes for operator in self.operators)

    @property
    def compute_ns(self) -> int:
        return sum(operator.compute_ns for operator in self.operators)


def parse_strategy(text: str, operators: int) -> Strategy:
    """`DP,MP,MP`, runs shortened to `2xDP,MP`, or one word for all operators. Raises ScenarioError for other words, and
    for another number of them."""
    found = list[str]()
    for part in text.split(","):
        count, times, word = part.strip().rpartition("x")
        good = word.upper() in SPLITS and (not times or (count.isascii() and count.isdigit() and len(count) < 5))
        if not good:
            raise ScenarioError(
                "not a strategy", found=f"'{part.strip()}'",
                allowed=f"{' or '.join(SPLITS)} for each operator, with commas between, as DP,MP or 4xDP,2xMP",
            )  # fmt: skip
        found += [word.upper()] * (int(count) if times else 1)
    if len(found) == 1:
        found *= operators
    if len(found) != operators:
        raise ScenarioError(
            "another number of operators", found=str(len(found)), allowed=f"{operators}, or one word for all"
        )
    return tuple(found)


def show_strategy(strategy: Strategy) -> str:
    """As `parse_strategy` reads it, runs of three and more shortened."""
    runs = list[tuple[str, int]]()
    for word in strategy:
        if runs and runs[-1][0] == word:
            runs[-1] = word, runs[-1][1] + 1
        else:
            runs.append((word, 1))
    return ",".join(f"{count}x{word}" if count > 2 else ",".join([word] * count) for word, count in runs)
