"""Runs of cells, and what is kept of each."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from testbed.bench.evolution.cells import COMPUTE_NS, Cell
from testbed.bench.ina.processes import in_processes
from testbed.history import of_kind
from testbed.history.events import ShapingMeasured
from testbed.kernel.scratch import scratch
from testbed.plan import make_plan
from testbed.runs.codeversion import model_version
from testbed.runs.run import run_scenario
from testbed.scenario import dump_scenario
from testbed.sweeps.store import Store
from topologies import Direction
from workloads.costs import flat_cost
from workloads.errors import InternalError

__all__ = ["Figures", "closed_form_s", "measure_cell", "run_cells"]

Say = Callable[[str], None]
_LEAST_BETWEEN_S = 10.0
_ALPHA_S = 5e-6
_BATCH = 6
"""runs of one process, which takes as long to start as one of them"""
_COMPUTED_BY = "testbed.bench.evolution.runs"


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one run. Bytes are those of frames, divided by the bytes of one gradient in frames; they do not depend on the
    scale."""

    communication_s: float
    """time until the slowest worker has its last sum; late starts are inside"""
    busiest_link: str
    """LINK DIRECTION"""
    busiest: float
    leaving: float
    """the first rack of workers, upwards"""
    entering: float

    @property
    def iteration_s(self) -> float:
        """Computing, and then communication: nothing overlaps."""
        return COMPUTE_NS / 1e9 + self.communication_s


def measure_cell(cell: Cell, world: str = "simulated") -> Figures:
    """Raises InternalError when a sum is wrong: a fast wrong answer is no measurement."""
    scenario = cell.scenario(world)
    with scratch() as folder:
        result = run_scenario(scenario, folder / "run")
    document = result.document
    wrong = [check for check in document["checks"] if check["verdict"] == "fail"]
    if wrong:
        raise InternalError(f"{cell.scheme.name}, {cell.column}: {wrong[0]['name']} failed: {wrong[0]['detail']}")
    metrics = document["metrics"] | (document["metrics"].get("unreliable") or {})
    unit = cell.model.size_bytes * _overhead(cell)
    carried = {
        (record.event.link, record.event.direction): record.event.bytes / unit
        for record in of_kind(result.history, ShapingMeasured)
    }
    home = scenario.topology.links[0].b  # of the first host: host links come first
    uplinks = [link.name for link in scenario.topology.links if link.a == home]
    use = max(carried, key=lambda each: carried[each])
    return Figures(
        metrics["jct_s"], " ".join(use), carried[use],
        sum(carried[name, Direction.UP.value] for name in uplinks),
        sum(carried[name, Direction.DOWN.value] for name in uplinks),
    )  # fmt: skip


def _overhead(cell: Cell) -> float:
    """Bytes of frames for each byte of gradient."""
    framing = make_plan(cell.scenario()).workers[0].framing
    return framing.frame_bytes / framing.payload_bytes


def closed_form_s(cell: Cell) -> float:
    """Of a star, with headers."""
    bandwidth_bps = cell.model.rate_bps / _overhead(cell)
    return flat_cost(cell.scheme.cost).seconds(cell.fabric.workers, cell.model.size_bytes, bandwidth_bps, _ALPHA_S)


def run_cells(
    say: Say, cells: Iterable[Cell], processes: int, folder: Path, world: str = "simulated"
) -> Mapping[Cell, Figures]:
    """By cell. Runs are on disk in `folder` as soon as a few are done. Each is stored under a hash of its scenario and
    of the code, so the same call goes on from there."""
    asked: Sequence[Cell] = list(cells)
    store, code = Store(folder), model_version(_COMPUTED_BY)
    needed = list(dict.fromkeys(cell.measured() for cell in asked))
    keys = {cell: _key(cell, world) for cell in needed}
    found = {cell: Figures(**store.results[keys[cell] + code]) for cell in needed if keys[cell] + code in store.results}
    missing = [cell for cell in needed if cell not in found]
    say(f"{len(found)} of {len(needed)} runs are in {store.path}")
    began = last = time.monotonic()
    batches = [tuple(missing[start : start + _BATCH]) for start in range(0, len(missing), _BATCH)]
    done = 0
    try:
        with closing(in_processes(partial(_measure_batch, world=world), batches, processes)) as measured:
            for batch, all_figures in measured:
                for cell, figures in zip(batch, all_figures, strict=True):
                    found[cell] = figures
                    store.add(keys[cell] + code, keys[cell], asdict(figures))
                done, now = done + len(batch), time.monotonic()
                if now - last >= _LEAST_BETWEEN_S or done == len(missing):
                    last = now
                    left = (now - began) / done * (len(missing) - done)
                    say(f"{done} of {len(missing)} runs, {now - began:.0f} s, about {left:.0f} s to go")
    finally:
        store.close()
    return {cell: found[cell.measured()] for cell in asked}


def _measure_batch(batch: Sequence[Cell], world: str) -> tuple[Figures, ...]:
    return tuple(measure_cell(cell, world) for cell in batch)


def _key(cell: Cell, world: str) -> str:
    return hashlib.sha256(dump_scenario(cell.scenario(world)).encode()).hexdigest()[:24] + "-"
