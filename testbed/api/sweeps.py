"""Sweeps over scenarios, from scripts and notebooks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from testbed.api.contained import contained
from testbed.api.frames import make_frame
from testbed.kernel.overdue import named_code
from testbed.runs.changes import Changes, as_overrides
from testbed.sweeps import ScenarioSweep, load_sweep
from testbed.sweeps.groups import PointGroup, groups_of
from testbed.sweeps.matrix import matrix_page
from testbed.sweeps.plots.options import changed_plot
from testbed.sweeps.plots.write import write_plots
from testbed.sweeps.scenario_engine import FinishedScenarios, run_scenario_sweep
from testbed.sweeps.scenario_loader import SweepWords
from testbed.sweeps.scenario_report import scenario_document, scenario_rows, scenario_summary, write_scenario_files
from testbed.sweeps.where import computing
from workloads.errors import ScenarioError
from workloads.trusted import write_file, write_named

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SweepChoice", "SweepResult", "sweep"]


class SweepChoice(TypedDict, total=False):
    """What a sweep varies, and its figures: arguments of `sweep` by name, all of them optional."""

    axes: Mapping[str, Any] | None
    """key -> list or range of its values"""
    protocols: Sequence[str]
    variants: Mapping[str, Mapping[str, Any]] | None
    """label -> keys"""
    seeds: int | Sequence[int] | None
    """so many, or these"""
    worlds: str | Sequence[str]
    set: Changes | None
    """keys that all runs have"""
    figures: Sequence[str]


@dataclass(frozen=True)
class SweepResult:
    """A finished sweep; its files lie in `folder`."""

    _finished: FinishedScenarios

    @property
    def folder(self) -> Path:
        """results.json, results.csv, summary.csv; in `points/`, the scenario and the result of each run, which
        `tb.load` reads."""
        return self._finished.folder

    @property
    def document(self) -> Mapping[str, Any]:
        """results.json"""
        return scenario_document(self._finished)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One for each run: what was varied, `seed`, `status` (done, invalid, failed), `verdict`, `reason`, every
        figure by its dotted name."""
        return scenario_rows(self._finished)

    @property
    def groups(self) -> list[PointGroup]:
        """Runs that differ by their seed alone: `group.labels`, `group.verdicts`, `group.summary("jct_s")` with median
        and interval."""
        return groups_of(self._finished)

    @property
    def as_expected(self) -> bool:
        """Whether every run was made and ended as its scenario expects."""
        return self._finished.exit_code == 0

    def frame(self) -> pd.DataFrame:
        """`rows` as a pandas table. Raises HostCapabilityError where there is no pandas."""
        return make_frame(self.rows)

    def plot(self, folder: str | Path | None = None, **options: str) -> list[Path]:
        """Draw each figure of the sweep, as SVG and PDF. `options`: those of `tb sweep` by name, as `style="ieee"`,
        `size="3.3x2.4in"`, `format="pdf"`. -> the files. Raises ScenarioError and HostCapabilityError."""
        chosen = changed_plot(self._finished.sweep.plot, options)
        return write_plots(self._finished, self.folder if folder is None else Path(folder), chosen)

    def matrix(self, path: str | Path | None = None) -> Path:
        """Write the page with protocols across and scenarios down. -> the file"""
        page, own = matrix_page(self._finished), self.folder / "matrix.html"
        if path is None:
            write_file(own, page)
        else:
            write_named(Path(path), page, key="path")
        return own if path is None else Path(path)

    def summary(self, width: int = 110) -> str:
        """As `tb sweep` prints it."""
        return "".join(f"{line}\n" for line in scenario_summary(self._finished, width))


def sweep(
    scenarios: str | Path | Sequence[str | Path],
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    out: str | Path | None = None,
    on_progress: Callable[[int, int, int], None] | None = None,
    **varied: Unpack[SweepChoice],
) -> SweepResult:
    """Run scenarios at each combination of the values that `varied` has (`SweepChoice`). `scenarios`: names or files;
    or one sweep, by name or file, with the other arguments as changes to it.

    Runs are made in `jobs` processes (default: one per processor) or by the workers of the Dask scheduler at the
    address `scheduler`. They are kept in `out` (default: `runs/sweeps/NAME`): what is there is not run again.
    `on_progress(done, all, reused)` is called from this thread.

    Raises ScenarioError and HostCapabilityError. A run that fails or cannot be made is a row of the result, and stops
    no other. Raises TypeError for an argument that there is not."""
    unknown = varied.keys() - SweepChoice.__annotations__.keys()
    if unknown:
        raise TypeError(f"sweep() has no argument {', '.join(sorted(unknown))}")
    axes, protocols, variants = varied.get("axes"), varied.get("protocols", ()), varied.get("variants")
    seeds, worlds = varied.get("seeds"), varied.get("worlds", ())
    targets = [str(scenarios)] if isinstance(scenarios, str | Path) else [str(each) for each in scenarios]
    words = SweepWords(
        list((axes or {}).items()), list(protocols), seeds if seeds is None or isinstance(seeds, int) else tuple(seeds),
        [worlds] if isinstance(worlds, str) else list(worlds),
        as_overrides(varied.get("set")), list(varied.get("figures", ())), variants or {},
    )  # fmt: skip
    named = [json.dumps(value, default=str) for value in (axes, protocols, variants, varied.get("set"))]
    if named_code(named):  # what the user's code does when it is loaded, it does there first
        contained(lambda hear: bool(load_sweep(targets, words)), None, named)
    asked = load_sweep(targets, words)
    if not isinstance(asked, ScenarioSweep):
        raise ScenarioError(
            "is a sweep of models, not of scenarios", file=asked.source, allowed="`tb sweep` computes it"
        )
    folder = Path("runs") / "sweeps" / asked.name if out is None else Path(out)
    finished = run_scenario_sweep(
        asked, folder, computing(jobs, scheduler), on_progress or (lambda done, total, reused: None)
    )
    write_scenario_files(finished, folder)
    return SweepResult(finished)
