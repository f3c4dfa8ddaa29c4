"""Points of a sweep on the workers of a Dask scheduler (`distributed`, an optional extra). Virtual time goes anywhere;
real time only where the worker has root."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from testbed.runs.codeversion import code_version
from testbed.runs.needs import is_root
from testbed.sweeps.compute import compute_point, failed, task_of
from testbed.sweeps.engine import Batch, Results, compute_batch
from testbed.sweeps.local import compute_locally
from testbed.sweeps.scenario_model import Point
from workloads.errors import HostCapabilityError, LabError, ScenarioError

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["compute_batches", "compute_points"]

_CONNECT_S = 10
_LOOK_S = 0.02
_KEY = "--scheduler"
_AGAIN = "the same command goes on from what is kept"
_LOST = f"the connection to this Dask scheduler was lost; {_AGAIN}"
_PACKAGES = ("dask", "distributed")


def compute_points(address: str, points: Sequence[Point]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(place in `points`, outcome), as they are done. Points of a worker that dies go to another one. Raises
    HostCapabilityError without `distributed`, and LabError when the scheduler or all of its workers are lost. Raises
    ScenarioError when the scheduler cannot be reached, has no workers, has another version of Dask, or has workers with
    other code than ours: their results would be kept as ours."""
    client = _connect(address)
    with _in_use(client, address):
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
        for future, result in _completed(client, address, list(places)):
            lost = isinstance(result, BaseException)
            yield places.pop(future), failed("failed", f"lost: {result}") if lost else result
            future.release()


def compute_batches(address: str, batches: Sequence[Batch]) -> Iterator[Results]:
    """Of a sweep of models. Raises as `compute_points`, and what a batch raises."""
    client = _connect(address)
    with _in_use(client, address):
        futures = [client.submit(compute_batch, batch, pure=False) for batch in batches]
        for _, result in _completed(client, address, futures):
            if isinstance(result, BaseException):
                raise result
            yield result


@contextmanager
def _in_use(client: Client, address: str) -> Iterator[None]:
    """Any call may be the first to notice that the scheduler is gone. Closes the client at the end."""
    from distributed import CancelledError
    from distributed.comm import CommClosedError

    try:
        yield
    except Exception as error:
        if isinstance(error, LabError) or not (
            isinstance(error, CommClosedError | CancelledError) or client.status != "running"
        ):
            raise
        raise LabError(address, _LOST) from error
    finally:
        client.close()


def _completed(client: Client, address: str, futures: Sequence[Future]) -> Iterator[tuple[Future, Any]]:
    """Futures with what they returned or raised, once that has come to this machine. `Future.result` would wait for
    ever for one that was done when the last worker died with it. Raises LabError when no worker is left to compute the
    others."""
    from distributed import CancelledError, as_completed

    done = as_completed(futures, with_results=True, raise_errors=False)
    looked = since = time.monotonic()
    while not done.is_empty():
        if done.has_ready():
            future, result = next(done)
            if isinstance(result, CancelledError):
                raise LabError(address, _LOST)
            yield future, result[1] if isinstance(result, tuple) else result  # (type, error, traceback)
            looked = since = time.monotonic()
            continue
        time.sleep(_LOOK_S)
        if time.monotonic() - looked > _CONNECT_S / 4:
            looked = time.monotonic()
            since = looked if client.nthreads() else since
            if looked - since > _CONNECT_S:
                raise LabError(address, f"this Dask scheduler has lost all of its workers; {_AGAIN}")


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
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said here
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other versions: they are refused
            client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        raise ScenarioError(
            "no Dask scheduler can be reached there", file="tb sweep", key=_KEY, found=address,
            allowed="as tcp://10.0.0.1:8786, which `dask scheduler` prints",
        ) from error  # fmt: skip
    except Exception as error:  # whatever another version, or another program, answers
        raise ScenarioError(
            "what is there does not answer as a Dask scheduler of this version", file="tb sweep", key=_KEY,
            found=f"{address}: {type(error).__name__}: {error}", allowed="the version of Dask that is installed here",
        ) from error  # fmt: skip
    try:
        _require_our_versions(client.get_versions())
        _require_our_code(client, address)
    except BaseException:
        client.close()
        raise
    return client


def _require_our_versions(versions: Mapping[str, Any]) -> None:
    """`versions`: of client, scheduler and workers."""
    ours = _named(versions["client"])
    everybody = {"the scheduler": versions["scheduler"], **versions["workers"]}
    others = [f"{who} has {_named(found)}" for who, found in everybody.items() if _named(found) != ours]
    if others:
        raise ScenarioError(
            "another version of Dask than on this machine", file="tb sweep", key=_KEY, found="; ".join(others),
            allowed=f"{ours} on scheduler and workers",
        )  # fmt: skip


def _named(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {found['packages'][name]}" for name in _PACKAGES)


def _require_our_code(client: Client, address: str) -> None:
    try:
        client.run_on_scheduler(code_version)  # it reads the names of functions that workers call
    except Exception as error:  # whatever it could not import
        raise ScenarioError(
            "the scheduler cannot import our code", file="tb sweep", key=_KEY, found=f"{address}: {error}",
            allowed="ina-testbed, on the scheduler too",
        ) from error  # fmt: skip
    found = client.run(code_version, on_error="return")
    if not found:
        raise ScenarioError(
            "has no workers", file="tb sweep", key=_KEY, found=address, allowed="`dask worker ADDRESS` first"
        )
    failed = {worker: error for worker, error in found.items() if isinstance(error, BaseException)}
    if failed:  # whatever a worker could not import
        worker, reason = next(iter(failed.items()))
        raise ScenarioError(
            "a worker cannot run our code", file="tb sweep", key=_KEY, found=f"{worker}: {reason}",
            allowed=f"ina-testbed, version {code_version()} of the sources, on all workers",
        ) from reason  # fmt: skip
    others = sorted(worker for worker, version in found.items() if version != code_version())
    if others:
        raise ScenarioError(
            "workers have other code than this machine", file="tb sweep", key=_KEY, found=", ".join(others),
            allowed=f"version {code_version()} of the sources on all of them",
        )  # fmt: skip
