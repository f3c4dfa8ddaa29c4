"""A sweep -> its tasks, and what is left out because an algorithm or model cannot do it."""

from __future__ import annotations

import itertools
from collections import Counter

from testbed.sweeps.model import PointTask, Sweep
from testbed.sweeps.parameters import FAMILIES, formulas_of_rack
from workloads.costs import FLAT_COSTS
from workloads.costs.checks import is_power_of_two

__all__ = ["PACKET_BYTES", "make_tasks", "why_not"]

_HALVES = {"halving_doubling"} | {name for name, cost in FLAT_COSTS.items() if cost.power_of_two}
_PACKET_HOSTS = 32
PACKET_BYTES = 64_000_000
"""largest gradient at the packet level"""


def make_tasks(sweep: Sweep) -> tuple[list[PointTask], Counter[str]]:
    """(tasks, how many were left out for which reason), points in the order of the axes."""
    known = FAMILIES[sweep.family]
    defaults = {name: parameter.default for name, parameter in known.items() if parameter.default is not None}
    tasks, skipped = [], Counter[str]()
    names = [name for name, _ in sweep.axes]
    for point in itertools.product(*(values for _, values in sweep.axes)):
        values = {**defaults, **dict(zip(names, point, strict=True))}
        for algorithm in sweep.algorithms:
            reason = why_not(sweep.model, sweep.family, algorithm, values)
            if reason:
                skipped[reason] += 1
            else:
                tasks.append(PointTask(sweep.model, sweep.family, algorithm, tuple(sorted(values.items()))))
    return tasks, skipped


def why_not(model: str, family: str, algorithm: str, values: dict[str, int]) -> str:
    """Empty when it can be computed."""
    if family == "machines":
        if values["gpus"] % values["gpus_per_machine"]:
            return "gpus is no multiple of gpus_per_machine"
        if values["intra_rate"] < values["inter_rate"]:
            return "intra_rate is below inter_rate"
        return ""
    if formulas_of_rack().get(algorithm, algorithm) in _HALVES and not is_power_of_two(values["hosts"]):
        return f"hosts is no power of two, which {algorithm} needs"
    if model == "formula":
        return ""
    if values["size"] % 4:
        return "size is no whole number of 4-byte elements"
    if values["path_mtu"] not in (256, 512, 1024, 2048, 4096):
        return "path_mtu is none of 256, 512, 1024, 2048, 4096"
    if model == "packet" and values["hosts"] > _PACKET_HOSTS:
        return f"the packet level has at most {_PACKET_HOSTS} hosts"
    if model == "packet" and values["size"] > PACKET_BYTES:
        return f"the packet level takes gradients of at most {PACKET_BYTES:,} bytes"
    return ""
