"""Points of a sweep on the workers of a Dask scheduler (`distributed`, an optional extra). Virtual time goes anywhere;
real time only where the worker has root."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from testbed.runs.codeversion import code_version
from testbed.runs.needs import is_root
from testbed.sweeps.compute import compute_point, failed, task_of
from testbed.sweeps.engine import Batch, Results, compute_batch
from testbed.sweeps.local import compute_locally
from testbed.sweeps.scenario_model import Point
from workloads.errors import HostCapabilityError, ScenarioError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["compute_batches", "compute_points"]

_CONNECT_S = 10
_KEY = "--scheduler"


def compute_points(address: str, points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(place in `points`, outcome), as they are done. Raises HostCapabilityError without `distributed`. Raises
    ScenarioError when the scheduler cannot be reached, has no workers, or has workers with other code than ours: their
    results would be kept as ours."""
    client = _connect(address)
    try:
        from distributed import as_completed

        rooted = [worker for worker, root in client.run(is_root).items() if root]
        places = {}
        for index, point in enumerate(points):
            if point.world == "simulated":
                future = client.submit(compute_point, **task_of(point), pure=False)
            elif rooted:
                future = client.submit(_apart, point, pure=False, workers=rooted, allow_other_workers=False)
            else:
                yield index, failed("failed", f"no worker of {address} has root, which the {point.world} world needs")
                continue
            places[future] = index
        for future in as_completed(list(places)):
            error = future.exception()
            yield places.pop(future), failed("failed", f"lost: {error}") if error is not None else future.result()
            future.release()
    finally:
        client.close()


def compute_batches(address: str, batches: Sequence[Batch]) -> Iterator[Results]:
    """Of a sweep of models. Raises as `compute_points`, and what a batch raises."""
    client = _connect(address)
    try:
        from distributed import as_completed

        for future in as_completed([client.submit(compute_batch, batch, pure=False) for batch in batches]):
            yield future.result()
    finally:
        client.close()


def _apart(point: Point) -> dict[str, Any]:
    """Real time in a process of its own: Dask calls from a thread, where no signal can be handled."""
    return next(compute_locally([point], 1))[1]


def _connect(address: str) -> Client:
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise HostCapabilityError(
            f"the Python package {error.name} for {sys.executable}", "to have it: pip install 'ina-testbed[dask]'"
        ) from error
    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        raise ScenarioError(
            "no Dask scheduler can be reached there", file="tb sweep", key=_KEY, found=address,
            allowed="as tcp://10.0.0.1:8786, which `dask scheduler` prints",
        ) from error  # fmt: skip
    try:
        _require_our_code(client, address)
    except BaseException:
        client.close()
        raise
    return client


def _require_our_code(client: Client, address: str) -> None:
    try:
        versions = client.run(code_version)
    except Exception as error:  # whatever a worker could not import
        raise ScenarioError(
            "a worker cannot run our code", file="tb sweep", key=_KEY, found=f"{type(error).__name__}: {error}",
            allowed="workers that have this version of ina-testbed",
        ) from error  # fmt: skip
    if not versions:
        raise ScenarioError(
            "has no workers", file="tb sweep", key=_KEY, found=address, allowed="`dask worker ADDRESS` first"
        )
    others = sorted(worker for worker, version in versions.items() if version != code_version())
    if others:
        raise ScenarioError(
            "workers have other code than this machine", file="tb sweep", key=_KEY, found=", ".join(others),
            allowed=f"version {code_version()} of the sources on all of them",
        )  # fmt: skip
