"""The page of a run, made from what its directory holds: of a run that was killed, too."""

from __future__ import annotations

from pathlib import Path

from testbed.history import Record
from testbed.kernel.garbage import seldom
from testbed.report.html import html_report, unfinished_report
from testbed.runs.about import about
from testbed.runs.kepthistory import load_history
from testbed.runs.run import read_result
from testbed.scenario import load_scenario
from testbed.terminal.shellwords import shell_word
from testbed.terminal.stream import near
from workloads.errors import ScenarioError
from workloads.trusted import write_file, write_named

__all__ = ["write_report"]


def write_report(run_dir: Path, file: Path | None = None) -> tuple[Path, bool]:
    """-> (the page, whether the run had ended). `file`: instead of report.html in the run directory. Raises
    ScenarioError when the directory is none of a run, something in it is damaged, or `file` cannot be written."""
    path, scenario_file = file or run_dir / "report.html", run_dir / "scenario.yaml"
    if not scenario_file.is_file():
        raise ScenarioError(
            "not a run directory", file=str(run_dir), found="no scenario.yaml in it", allowed="as runs/latest"
        )
    scenario = load_scenario(str(scenario_file))
    facts = about(run_dir, path.parent)
    if (run_dir / "result.json").is_file():
        with seldom():
            page = html_report(read_result(run_dir), load_history(run_dir).records, scenario, facts)
        _write(file, path, page)
        return path, True
    replay = f"tb run {shell_word(near(scenario_file))}"
    _write(file, path, unfinished_report(scenario, _records(run_dir), replay, facts))
    return path, False


def _write(file: Path | None, path: Path, page: str) -> None:
    if file is None:
        write_file(path, page)
    else:
        write_named(file, page, key="--out")


def _records(run_dir: Path) -> list[Record]:
    """The records of a run. Empty for a run that was killed before it recorded anything."""
    history = run_dir / "history.jsonl"
    return load_history(run_dir).records if history.is_file() and history.stat().st_size else []
