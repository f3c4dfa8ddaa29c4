"""Cost models of equal ranks and of machines by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from workloads.costs import flat, hierarchical
from workloads.costs.hierarchical import EqualMachines
from workloads.errors import ScenarioError

__all__ = ["FLAT_COSTS", "MACHINE_COSTS", "FlatCost", "MachineCost", "flat_cost", "machine_cost"]

FlatSeconds = Callable[[int, float, float, float], float]
"""(ranks, size_bytes, bandwidth_bps, alpha_s) -> seconds"""
MachineSeconds = Callable[[EqualMachines, float], float]
"""(machines, size_bytes) -> seconds"""


@dataclass(frozen=True, slots=True)
class FlatCost:
    seconds: FlatSeconds
    meaning: str
    power_of_two: bool = False
    """the number of ranks must be one"""


@dataclass(frozen=True, slots=True)
class MachineCost:
    seconds: MachineSeconds
    meaning: str


FLAT_COSTS: Mapping[str, FlatCost] = {
    "ring": FlatCost(flat.ring, "reduce-scatter, then all-gather, round a ring"),
    "rabenseifner": FlatCost(flat.rabenseifner, "recursive halving, then doubling", power_of_two=True),
    "recursive_doubling": FlatCost(flat.recursive_doubling, "all data with a new partner each step", power_of_two=True),
    "binomial_tree": FlatCost(flat.binomial_tree, "reduce to a root, then broadcast"),
    "torus2d": FlatCost(flat.torus2d, "rings along the rows and columns of a torus, as square as can be"),
    "sharded_ps": FlatCost(flat.sharded_ps, "every rank is the server of its share"),
    "ina": FlatCost(flat.ina, "the switch sums at line rate"),
    "ps": FlatCost(flat.ps, "one parameter server behind one link"),
    "ps_multicast": FlatCost(flat.ps_multicast, "a parameter server whose answer the switch multiplies"),
    "ps_ina_up": FlatCost(flat.ps_ina_up, "a parameter server whose input the switch sums"),
}
MACHINE_COSTS: Mapping[str, MachineCost] = {
    "FR": MachineCost(hierarchical.flat_ring, "flat ring over all GPUs"),
    "TA": MachineCost(hierarchical.tencent, "reduce to a master GPU per machine, ring of the masters, broadcast"),
    "PN": MachineCost(hierarchical.parallel_netreduce, "in-machine reduce-scatter, parallel NetReduce, all-gather"),
}
_C = TypeVar("_C", FlatCost, MachineCost)
_ALIASES = {"halving_doubling": "rabenseifner", "tree": "binomial_tree"}


def flat_cost(name: str) -> FlatCost:
    """Raises ScenarioError for an unknown name; `halving_doubling` and `tree` are other names of two of them."""
    return _find(FLAT_COSTS, _ALIASES.get(name, name))


def machine_cost(name: str) -> MachineCost:
    """Raises ScenarioError for an unknown name."""
    return _find(MACHINE_COSTS, name)


def _find(table: Mapping[str, _C], name: str) -> _C:
    if name in table:
        return table[name]
    near = difflib.get_close_matches(name, table, n=1)
    raise ScenarioError(
        "no such cost model", key="algorithm", found=repr(name), allowed=", ".join(table),
        hint=f"did you mean '{near[0]}'?" if near else None,
    )  # fmt: skip
