"""Where points of a sweep are computed: processes of this machine, or the workers of a Dask scheduler."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from testbed.sweeps.engine import ComputeBatches
from testbed.sweeps.local import compute_locally
from testbed.sweeps.scenario_engine import Compute
from testbed.sweeps.scenario_model import Point

__all__ = ["computing", "computing_models"]


def computing(jobs: int | None, scheduler: str | None) -> Compute:
    """Raises ScenarioError and HostCapabilityError as `dask.connect` does, when it is used."""
    if scheduler is not None:
        from testbed.sweeps.dask import compute_points

        return lambda points: compute_points(scheduler, points)
    processes = jobs or os.cpu_count() or 1

    def local(points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
        return compute_locally(points, processes)

    return local


def computing_models(scheduler: str | None) -> ComputeBatches | None:
    """None: processes of this machine."""
    if scheduler is None:
        return None
    from testbed.sweeps.dask import compute_batches

    return lambda batches: compute_batches(scheduler, batches)
