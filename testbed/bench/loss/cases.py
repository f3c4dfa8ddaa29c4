"""What `tb bench loss` runs: the built-in sweeps `loss-NETWORK-WORKERS`, one for each network and number of workers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from testbed.sweeps.loader import load_sweep
from testbed.sweeps.scenario_loader import SweepWords
from testbed.sweeps.scenario_model import ScenarioSweep

__all__ = ["LOSS_KEY", "LossCase", "cases_of"]

LOSS_KEY = "faults.loss.rate"
"""share of all packets, on every link, both ways"""
_EMULATED_LOSSES = (0.0, 0.001, 0.01)
_QUICK_LOSSES = (0.0, 0.01, 0.05)
_QUICK_SEEDS, _EMULATED_SEEDS = 3, 3
_QUICK_SIZE = "300kB"


@dataclass(frozen=True, slots=True)
class LossCase:
    """One network, with all protocols that run on it."""

    network: str
    """rack, spine-leaf"""
    workers: int
    sweep: ScenarioSweep

    @property
    def title(self) -> str:
        return f"{self.network}, {self.workers} workers"


def cases_of(world: str, *, quick: bool = False, seeds: int | None = None) -> list[LossCase]:
    """In the order in which they are run. `quick`: four workers, few rates, and less data."""
    words = SweepWords(
        axes=_axes(world, quick=quick),
        seeds=seeds or (_QUICK_SEEDS if quick else _EMULATED_SEEDS if world == "emulated" else None),
        worlds=[world],
        overrides=[
            *([f"job.size={_QUICK_SIZE}"] if quick else []),
            *(["dilation=auto"] if world == "emulated" else []),
        ],
    )
    return [
        LossCase(network, workers, _sweep(f"loss-{network}-{workers}", words, world))
        for network in ("rack", "spine-leaf")
        for workers in ((4,) if quick else (4, 8))
    ]


def _axes(world: str, *, quick: bool) -> list[tuple[str, list[float]]]:
    """Instead of the rates of the sweep file."""
    if world == "emulated":  # go-back-N at 5 % takes a hundred times as long: minutes of real time at `dilation: auto`
        return [(LOSS_KEY, list(_EMULATED_LOSSES[:: 2 if quick else 1]))]
    return [(LOSS_KEY, list(_QUICK_LOSSES))] if quick else []


def _sweep(name: str, words: SweepWords, world: str) -> ScenarioSweep:
    found = load_sweep(name, words)
    assert isinstance(found, ScenarioSweep), "the built-in file varies scenarios"
    return replace(found, name=f"{name}-{world}")
