"""What checkers, reports and trainings ask of a protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testbed.plan.contract import PlannedProtocol
from testbed.scenario.protocols.known import lacks_methods, protocol_of
from testbed.scenario.protocols.own_types import CHECKER
from testbed.scenario.protocols.protocol import ResultKind, Shortfall
from workloads.errors import InternalError
from workloads.ownvalues import shown

if TYPE_CHECKING:
    from testbed.checkers.checker import Checker
    from testbed.checkers.context import CheckContext
    from testbed.checkers.folds import Array
    from testbed.checkers.pieces import PieceJudge
    from testbed.plan.model import Plan
    from workloads.config import HostConfig

__all__ = ["JudgedProtocol", "Part", "judged_protocol"]


@dataclass(frozen=True, slots=True)
class Part:
    """What a worker does for the sums of its job."""

    contributes: bool = True
    """its packets enter them"""
    sums: bool = False
    """whether it completes some blocks itself, and reports them (`BlockSummed`)"""


class JudgedProtocol(PlannedProtocol):
    """The methods that say what is right."""

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        """What each worker of one job must hold, by rank: the reference of `bit_exact`. `gradients`: those of the
        workers, by rank. Every protocol has one whose sums are not approximate."""
        raise InternalError(f"protocol {self.name} has no order to add in, and is not approximate")

    def blocks(self, worker: HostConfig, elements: int) -> int | None:
        """Blocks of an iteration for a gradient of so many elements. None: its nodes report no blocks."""
        return None

    def sums(self, worker: HostConfig) -> tuple[int, ...] | None:
        """Elements of each sum of an iteration, in their order, where blocks of several follow one another. None: there
        is one sum, of the whole gradient."""
        return None

    def contributions(
        self, workers: Sequence[HostConfig], gradients: Sequence[Array]
    ) -> Sequence[tuple[int, ...]] | None:
        """Of one iteration, where the data says who sends what: for each block how often each rank's packet enters its
        sum, 0 or 1. A block without packets has no
        sum. `gradients`: as of `order`. None: as `part` says of every block."""
        return None

    def part(self, worker: HostConfig) -> Part:
        """A worker's part in the sums. As it is: all contribute, and none completes any."""
        return Part()

    def server_completes(self) -> bool:
        """Whether the parameter server sees every block complete."""
        return False

    def checkers(self) -> tuple[Checker, ...]:
        """Those that judge runs of this protocol, in addition to the stock checkers."""
        return ()

    def figures(self, context: CheckContext) -> Mapping[str, object]:
        """What its runs have under `metrics` in result.json in addition to the figures of all, by name."""
        return {}

    def piece_judge(self) -> Callable[[Plan], PieceJudge] | None:
        """What makes the judge of a training's pieces, of protocols whose sums are approximate. None: such a one cannot
        train; others are held to `order`."""
        return None

    def shortfall(self) -> Shortfall | None:
        found = self.checkers()
        if not isinstance(found, tuple) or not all(map(CHECKER.holds, found)):
            allowed = f"a tuple of them, each {CHECKER.words}"
            return Shortfall("has a checker that is none (checkers)", shown(found), allowed)
        result: object = self.result()
        if not isinstance(result, ResultKind):
            return Shortfall("has a result that is none (result)", shown(result), ", ".join(map(str, ResultKind)))
        exact = result.is_exact
        if not exact and not found:
            return Shortfall(
                "sums approximately, and no checker of its own judges that (checkers)", f"result {result}",
                "a method checkers that returns (Checker(...),)",
            )  # fmt: skip
        if type(self).order is JudgedProtocol.order and exact:
            return Shortfall(
                "does not say in which order it adds (order), and its sums are not approximate", "no method order",
                "a method order, with a function as in testbed/checkers/orders.py",
            )  # fmt: skip
        return None


def judged_protocol(protocol: str) -> JudgedProtocol:
    """By name. Raises as `protocol_of`, and ScenarioError for one that lacks these methods."""
    found = protocol_of(protocol)
    if not isinstance(found, JudgedProtocol):
        raise lacks_methods(found)
    return found
