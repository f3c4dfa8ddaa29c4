"""Bugs planted in the operations that switches sum, each by a change to one function; and runs of which one at least
must notice each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from testbed.plan import jobs
from testbed.protocols.parts import plan_ring
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from workloads.collectives import base, held
from workloads.collectives.netreduce import NetReduceCollective
from workloads.config import ArithmeticSpec
from workloads.datagrams import training
from workloads.gradients.given import GivenPart

__all__ = ["PLANTED", "all_runs"]

Patch = pytest.MonkeyPatch
Part = tuple[int, int] | None
_OPERATIONS = ("reduce_scatter", "all_gather", "broadcast", "reduce", "barrier")
_ODD = ("job.size=1004B", "job.iterations=2", "topology.hosts=3", "capture=false")
"""of 251 elements: ranks have unequal parts, and packets have elements of two"""


def all_runs(folder: Path) -> None:
    """Raises AssertionError, or whatever a broken plan raises, where an operation goes wrong."""
    for network, operation in product(("rack", "switchml"), _OPERATIONS):
        changes = [*_ODD, f"job.operation={operation}"]
        if operation in ("broadcast", "reduce"):
            changes.append("job.root=1")
        if network == "rack":
            changes += ["job.workload=special", "job.message_packets=1", "transport.path_mtu=256"]
        if operation == "barrier":
            changes.append("job.straggler={rank: 2, delay: 1ms}")
        document = run_scenario(
            load_scenario(network, changes, world="simulated"), folder / f"{network}-{operation}"
        ).document
        assert document["verdict"] == "pass", (network, operation)


def _changed(which: str, operation: str, change: Callable[[Part, int], Part]) -> Callable[[Patch], None]:
    """`change`: of (what the function returns, number of elements)."""
    right: Callable[..., Part] = getattr(held, which)

    def wrong(name: str, rank: int, ranks: int, elements: int, root: int) -> Part:
        part = right(name, rank, ranks, elements, root)
        return change(part, elements) if name == operation else part

    def plant(patch: Patch) -> None:
        patch.setattr(jobs, which, wrong)
        if which == "kept":
            patch.setattr(plan_ring, which, wrong)

    return plant


def _neighbours(which: str, operation: str, *, root: bool = False) -> Callable[[Patch], None]:
    """The part of the next rank, or that of the rank after the root."""
    right: Callable[..., Part] = getattr(held, which)

    def wrong(name: str, rank: int, ranks: int, elements: int, root_rank: int) -> Part:
        if name != operation:
            return right(name, rank, ranks, elements, root_rank)
        if root:
            return right(name, rank, ranks, elements, (root_rank + 1) % ranks)
        return right(name, (rank + 1) % ranks, ranks, elements, root_rank)

    def plant(patch: Patch) -> None:
        patch.setattr(jobs, which, wrong)
        if which == "kept":
            patch.setattr(plan_ring, which, wrong)

    return plant


def _one_fewer(part: Part, elements: int) -> Part:
    return None if part is None else (part[0], max(0, part[1] - 1))


def _one_later(part: Part, elements: int) -> Part:
    return None if part is None else (part[0] + 1, part[1])


def _one_more(part: Part, elements: int) -> Part:
    return None if part is None else (part[0], part[1] + 1)


def _everything(part: Part, elements: int) -> Part:
    return None


def _nothing(part: Part, elements: int) -> Part:
    return 0, 0


def _old_zeros(patch: Patch) -> None:
    """What is around the part is not cleared."""
    right = GivenPart.__init__

    def wrong(self: Any, source: Any, first: int, number: int) -> None:
        right(self, source, first, number)
        self._room[:] = source.gradient(0)

    patch.setattr(GivenPart, "__init__", wrong)


def _first_iteration_again(patch: Patch) -> None:
    right = GivenPart.gradient
    patch.setattr(GivenPart, "gradient", lambda self, iteration: right(self, 0))


def _hashes_beyond(patch: Patch) -> None:
    def wrong(self: Any, stop: int) -> None:
        self._hash_at = None
        self._hash.update(self._result[self._hashed : stop])
        self._hashed = stop

    patch.setattr(base.Teller, "_take_in", wrong)


def _keeps_all(patch: Patch) -> None:
    right = training.Training.__init__

    def wrong(self: Any, *args: Any, **keys: Any) -> None:
        right(self, *args, **{**keys, "kept": None})

    patch.setattr(training.Training, "__init__", wrong)


def _counts_bytes(patch: Patch) -> None:
    patch.setattr(training, "ELEMENT_BYTES", 1)


def _moves_as_job_says(patch: Patch) -> None:
    """Words that only move are added as floats: -0.0 becomes 0.0."""
    patch.setattr(jobs.PlannedJob, "arithmetic", property(lambda self: ArithmeticSpec(self.job.op, self.job.dtype)))


def _leaves_early(patch: Patch) -> None:
    right = NetReduceCollective.start

    def wrong(self: Any, iteration: int, gradient: Any, result: Any, now: int) -> None:
        right(self, iteration, gradient, result, now)
        if len(gradient) == 1:
            self._complete(now)

    patch.setattr(NetReduceCollective, "start", wrong)


def _gives_without_zeros(patch: Patch) -> None:
    patch.setattr(jobs, "given", lambda *place: None)


PLANTED: dict[str, Callable[[Patch], None]] = {
    "an all-gather gives the chunk of the next rank": _neighbours("given", "all_gather"),
    "an all-gather gives one element more": _changed("given", "all_gather", _one_more),
    "an all-gather gives one element fewer": _changed("given", "all_gather", _one_fewer),
    "an all-gather gives its chunk one element late": _changed("given", "all_gather", _one_later),
    "an all-gather gives all": _changed("given", "all_gather", _everything),
    "an all-gather gives nothing": _changed("given", "all_gather", _nothing),
    "an all-gather keeps its chunk alone": _changed("kept", "all_gather", lambda part, elements: (0, elements // 3)),
    "the rank after the root gives a broadcast": _neighbours("given", "broadcast", root=True),
    "all give a broadcast": _changed("given", "broadcast", _everything),
    "none gives a broadcast": _changed("given", "broadcast", _nothing),
    "a broadcast lacks its last element": _changed("kept", "broadcast", lambda part, elements: (0, elements - 1)),
    "a reduce-scatter keeps the chunk of the next rank": _neighbours("kept", "reduce_scatter"),
    "a reduce-scatter keeps one element fewer": _changed("kept", "reduce_scatter", _one_fewer),
    "a reduce-scatter keeps its chunk one element late": _changed("kept", "reduce_scatter", _one_later),
    "a reduce-scatter keeps all": _changed("kept", "reduce_scatter", _everything),
    "a reduce-scatter gives nothing": _changed("given", "reduce_scatter", _nothing),
    "all keep a reduce": _changed("kept", "reduce", _everything),
    "the rank after the root keeps a reduce": _neighbours("kept", "reduce", root=True),
    "none keeps a reduce": _changed("kept", "reduce", _nothing),
    "a reduce gives nothing": _changed("given", "reduce", _nothing),
    "what is around a part is not cleared": _old_zeros,
    "the first iteration is given again": _first_iteration_again,
    "the digest goes on behind the part": _hashes_beyond,
    "a worker of datagrams keeps all": _keeps_all,
    "a worker of datagrams counts bytes for elements": _counts_bytes,
    "words that move are added as floats": _moves_as_job_says,
    "a rank leaves a barrier early": _leaves_early,
    "no rank sends zeros": _gives_without_zeros,
}  # fmt: skip
