"""One run as a value: made by `run`, read again by `load`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.api.contained import contained
from testbed.api.frames import make_frame
from testbed.comparison.figures import Figure, flat_figures
from testbed.comparison.model import Comparison, compare_runs
from testbed.figures.over_time import OverTime, over_time_of
from testbed.history import Record
from testbed.history.codec import record_fields
from testbed.history.verdict import CheckResult, Verdict
from testbed.report.terminal import plain_summary
from testbed.report.witnesses import slower_code
from testbed.runs.changes import Changes, as_overrides
from testbed.runs.kepthistory import load_history
from testbed.runs.needs import require_root
from testbed.runs.options import RunOptions
from testbed.runs.run import read_result, run_scenario
from testbed.scenario import load_scenario
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    import pandas as pd

_NOT_WANTED = "switched off by INA_NATIVE=0"
__all__ = ["Comparison", "Run", "compare", "load", "run"]


@dataclass(frozen=True)
class Run:
    """A finished run: what it found, and where it lies."""

    document: Mapping[str, Any] = field(repr=False)
    """result.json; the page on verdicts lists its fields"""
    run_dir: Path
    """the run directory: scenario, history, report, captures"""

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return str(self.document["scenario"])

    @property
    def world(self) -> str:
        return str(self.document["world"])

    @property
    def seed(self) -> int:
        return int(self.document["seed"])

    @property
    def verdict(self) -> Verdict:
        """`pass`, `fail` or `unknown`; it equals the plain text, so `run.verdict == "pass"` is a fair question."""
        return Verdict(self.document["verdict"])

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one that the scenario was made to show (its key `expect`)."""
        return self.verdict == Verdict(self.document["expect"] or Verdict.PASS)

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """Every check that was made: name, verdict, detail, evidence."""
        return tuple(
            CheckResult(item["name"], Verdict(item["verdict"]), item["detail"], tuple(item["evidence"]))
            for item in self.document["checks"]
        )

    @cached_property
    def figures(self) -> Mapping[str, Figure]:
        """By dotted name: `jct_s`, `goodput_bps`, `lost.data`, `retransmissions.packets`, ... Names end in their unit:
        `_s` seconds, `_bps` bits per second, `_bytes` bytes. None: it could not be determined."""
        return flat_figures(self.document)

    @cached_property
    def history(self) -> Sequence[Record]:
        """Every event of the run, by time. Raises ScenarioError when the run directory holds none, or a damaged one."""
        return load_history(self.run_dir).records

    @property
    def replay(self) -> str:
        """The command that runs this again."""
        return str(self.document["replay"])

    @property
    def report(self) -> Path:
        """The page for a browser."""
        return self.run_dir / "report.html"

    @cached_property
    def over_time(self) -> OverTime | None:
        """What happened in each interval of the run, as its page plots it: `run.over_time.of("slots in use")` has a
        line for each switch. None where nothing took time."""
        return over_time_of(self.history, load_scenario(str(self.run_dir / "scenario.yaml")))

    def events(self, *names: str) -> list[Record]:
        """Those of the history with one of these names, as `run.events("Retransmission")`; `record.t`, `record.node`,
        `record.event.cause`."""
        return [record for record in self.history if record.name in names]

    def frame(self, *names: str) -> pd.DataFrame:
        """The history as a pandas table, a row for each event: `t` in nanoseconds, `node`, `event`, then the fields of
        the events. `names`: only events of these names. Raises HostCapabilityError where there is no pandas."""
        return make_frame(map(record_fields, self.events(*names) if names else self.history))

    def summary(self) -> str:
        """As `tb run` prints it."""
        return plain_summary(dict(self.document))

    def _repr_html_(self) -> str:
        """In a notebook."""
        color = {"pass": "#176f2c", "fail": "#b3151b"}.get(self.verdict, "#8a5a00")
        title = f"{self.scenario}, {self.world} world, seed {self.seed}: "
        return (
            f"<b>{escape(title)}<span "
            f'style="color:{color}">{self.verdict}</span></b><pre>{escape(self.summary())}</pre>'
        )


def run(
    scenario: str | Path,
    *,
    set: Changes | None = None,
    world: str | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    pcap: bool = False,
    on_record: Callable[[Record], None] | None = None,
    real_limit_s: float | None = None,
) -> Run:
    """Run a scenario and judge it, as `tb run` does.

    `scenario`: a built-in's name or a YAML file. `set`: keys of it to change, as `{"faults.loss.rate": "2%"}`. `world`,
    `seed`: instead of the scenario's. `out`: the run directory (default: `runs/TIME-NAME-SEED` below the current one).
    `on_record` is called with each event as it comes, from this thread. `real_limit_s`: the traffic of a simulated run
    ends after so many seconds of real time, with verdict `unknown`; None: it has no such limit. The simulated world
    needs no root and runs in any thread.

    Raises ScenarioError (what is wrong with the scenario or a change, and what is allowed), HostCapabilityError (what
    this machine lacks) and LabError. A verdict of `fail` raises nothing: it is in the result."""
    changes = as_overrides(set)

    def make(hear: Callable[[Record], None] | None) -> Path:
        loaded = load_scenario(str(scenario), changes, seed, world)
        if loaded.world == "emulated":
            require_root("the emulated world", 'world="simulated" needs no root')
        observer = None if hear is None else (lambda plan: hear)
        if real_limit_s is not None and not (loaded.world == "simulated" and real_limit_s > 0):
            raise ScenarioError(
                "is no limit", file="run()", key="real_limit_s", found=f"{real_limit_s!r}, {loaded.world} world",
                allowed="a positive number of seconds, in the simulated world",
            )  # fmt: skip
        folder = None if out is None else Path(out)
        return run_scenario(loaded, folder, pcap, observer, options=RunOptions(real_limit_s=real_limit_s)).run_dir

    run_dir = contained(make, on_record, changes)
    document = read_result(run_dir)
    _warn_of_slow_code(document["environment"])
    return Run(document, run_dir)


def _warn_of_slow_code(environment: Mapping[str, str]) -> None:
    """Where the C core did not run although the user did not turn it off. A user who prints no summary sees it, too."""
    code = slower_code(environment)
    if code and _NOT_WANTED not in code:
        warnings.warn(f"the C core of ina-testbed did not run: {code}", RuntimeWarning, stacklevel=3)


def load(run_dir: str | Path) -> Run:
    """A finished run, read from its directory. Raises ScenarioError when there is none, when it did not end, or when it
    is damaged."""
    return Run(read_result(Path(run_dir)), Path(run_dir))


def compare(*runs: Run | str | Path) -> Comparison:
    """Two or more finished runs, given as runs or as their directories (or as points of a sweep). The result has `keys`
    that differ, `figures` with `ratios` to the first, `checks` and `faults`. Raises ScenarioError for what is no
    finished run."""
    return compare_runs([each.run_dir if isinstance(each, Run) else Path(each) for each in runs])
