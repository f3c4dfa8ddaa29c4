"""One run, from a scenario to a verdict on disk."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.checkers import CheckContext
from testbed.history import Record, sort_history, write_history
from testbed.plan import Plan, make_plan
from testbed.report.capture import split_by_link
from testbed.report.document import judge, to_json
from testbed.report.html import html_report
from testbed.report.junit import junit_xml
from testbed.scenario import dump_scenario
from testbed.scenario.model import Scenario
from testbed.scenario.own_program import program_words, with_stock_program
from testbed.terminal.stream import shown_path
from testbed.verdict import Verdict
from testbed.worlds.base import World
from workloads.errors import ScenarioError

__all__ = ["Observer", "RunResult", "create_world", "run_scenario", "world_names"]

Observer = Callable[[Plan], Callable[[Record], None]]
"""Given the plan, what wants to hear each record as it comes."""


@dataclass(frozen=True, slots=True)
class RunResult:
    document: dict[str, Any]
    """as in result.json"""
    history: list[Record]
    run_dir: Path

    @property
    def exit_code(self) -> int:
        return Verdict(self.document["verdict"]).exit_code


def _emulated() -> World:
    from testbed.worlds.emulated import EmulatedWorld

    return EmulatedWorld()


def _simulated() -> World:
    from testbed.worlds.simulated import SimulatedWorld

    return SimulatedWorld()


def _lab() -> World:
    from testbed.cli.lab import find_inventory
    from testbed.lab.inventory import load_inventory
    from testbed.worlds.lab import LabWorld

    return LabWorld(load_inventory(find_inventory(None)))


_WORLDS: dict[str, Callable[[], World]] = {"emulated": _emulated, "simulated": _simulated, "lab": _lab}


def world_names() -> tuple[str, ...]:
    return tuple(_WORLDS)


def create_world(name: str) -> World:
    """Raises ScenarioError when there is no such world."""
    if name not in _WORLDS:
        raise ScenarioError("no such world", key="world", found=repr(name), allowed=", ".join(_WORLDS))
    return _WORLDS[name]()


def run_scenario(
    scenario: Scenario,
    out: Path | None = None,
    pcap: bool = False,
    observer: Observer | None = None,
    world: World | None = None,
) -> RunResult:
    """Run it, judge it, write the run directory (`out`, or `runs/<time>-<name>-<seed>`), return all of it. `world`: one that
    is there already, instead of the one that the scenario names.

    Raises ScenarioError when `out` holds files already, and whatever the world raises; what was recorded until then is
    kept in the run directory.
    """
    world, plan = world or create_world(scenario.world), make_plan(scenario)
    run_dir = _make_run_dir(scenario, out)
    (run_dir / "scenario.yaml").write_text(_scenario_text(scenario), encoding="utf-8")
    records: list[Record] = []
    tell = observer(plan) if observer else None

    def on_record(record: Record) -> None:
        records.append(record)
        if tell is not None:
            tell(record)

    try:
        facts = world.run(plan, run_dir, on_record)
    finally:
        history = sort_history(records)
        write_history(run_dir / "history.jsonl", history)
    plan = facts.plan or plan
    context = CheckContext(plan, history, facts.captures)
    options = getattr(world, "replay_options", "")  # of worlds that the scenario alone does not name
    words = ["tb", "run", f"{shown_path(run_dir)}/scenario.yaml", *program_words(scenario.switch.program)]
    document = judge(context, facts, world=scenario.world, replay=shlex.join(words) + options)
    (run_dir / "result.json").write_text(to_json(document), encoding="utf-8")
    (run_dir / "junit.xml").write_text(junit_xml(document), encoding="utf-8")
    (run_dir / "report.html").write_text(html_report(document, history), encoding="utf-8")
    for capture in facts.captures:
        if pcap:
            # A link between two switches is in the captures of both.
            folder = run_dir / "pcap"
            split_by_link(capture, folder / capture.stem if len(plan.switches) > 1 else folder)
        else:
            capture.unlink()
    return RunResult(document, history, run_dir)


def read_result(run_dir: Path) -> dict[str, Any]:
    """result.json of a finished run; it has a verdict and a world. Raises ScenarioError when the folder is no finished run, or
    when the file is damaged."""
    path = run_dir / "result.json"
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError("not the directory of a finished run", file=str(run_dir), found=str(error)) from error
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise ScenarioError("not the result of a run", file=str(path), line=line, found=str(error)) from error
    if not isinstance(document, dict):
        raise ScenarioError(
            "not the result of a run", file=str(path), found=type(document).__name__, allowed="a mapping"
        )
    for key, allowed in (("verdict", tuple(map(str, Verdict))), ("world", world_names())):
        if document.get(key) not in allowed:
            found = json.dumps(document[key]) if key in document else "nothing"
            raise ScenarioError(
                "not the result of a run", file=str(path), key=key, found=found, allowed=", ".join(allowed)
            )
    return document


def _scenario_text(scenario: Scenario) -> str:
    """A file that loads: it names the program of ours in place of the user's own, and says so."""
    words = program_words(scenario.switch.program)
    told = (
        f"# It ran with {shlex.join(words)}, which a file cannot say: give that on the command line.\n" if words else ""
    )
    return told + dump_scenario(with_stock_program(scenario))


def _make_run_dir(scenario: Scenario, out: Path | None) -> Path:
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ScenarioError("is not an empty directory", file="--out", found=str(out), allowed="a new directory")
        out.mkdir(parents=True, exist_ok=True)
        return out.resolve()
    runs = Path.cwd() / "runs"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for attempt in range(1000):
        suffix = f"-{attempt}" if attempt else ""
        run_dir = runs / f"{stamp}-{scenario.name}-{scenario.seed}{suffix}"
        try:
            run_dir.mkdir(parents=True)
        except FileExistsError:
            continue
        _point_latest(runs, run_dir)
        return run_dir
    raise ScenarioError("holds a thousand runs of this second", file=str(runs))


def _point_latest(runs: Path, run_dir: Path) -> None:
    """Replace `runs/latest` in one step, so that a reader never finds it missing. Where links cannot be made (a file system or
    a system without them) there is none: it is a convenience, and every command tells its run directory."""
    fresh = runs / f".latest-{os.getpid()}"
    try:
        fresh.symlink_to(run_dir.name)
    except (OSError, NotImplementedError):
        return
    fresh.replace(runs / "latest")
