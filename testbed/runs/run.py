"""One run, from a scenario to a verdict on disk."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed.captures.capture import MemoryTap, split_by_link
from testbed.checkers import CheckContext, Checker
from testbed.checkers.own import load_checkers
from testbed.estimate import require_memory
from testbed.figures.metrics import figures_of, metrics
from testbed.history import HistoryLog, Record, sort_history
from testbed.history.verdict import Verdict
from testbed.kernel.garbage import seldom
from testbed.kernel.room import needs_room
from testbed.kernel.scratch import scratch
from testbed.plan import Plan, make_plan
from testbed.report.document import judge, misfit_of_result, to_json
from testbed.report.html import html_report
from testbed.report.junit import junit_xml
from testbed.report.reference import REFERENCE, reference_text
from testbed.runs.about import about
from testbed.runs.attempts import (
    MOST_ATTEMPTS,
    choose_for_machine,
    exact_factor,
    is_settled,
    put_away,
    twice,
    with_dilation,
)
from testbed.runs.codeversion import versions_of
from testbed.runs.kepthistory import load_history
from testbed.runs.options import RunOptions
from testbed.runs.twin import has_twin, make_twin
from testbed.scenario import dump_scenario
from testbed.scenario.model import Scenario
from testbed.scenario.own_program import code_words, is_own_program, with_stock_code
from testbed.scenario.protocols.own_code import is_own_code
from testbed.terminal.activity import doing
from testbed.terminal.shellwords import shell_word, shell_words
from testbed.terminal.stream import near
from testbed.worlds.base import World
from workloads.errors import ScenarioError
from workloads.trusted import make_folder, require_trusted, write_file

__all__ = ["Observer", "RunResult", "create_world", "judge_scenario", "run_scenario", "world_names"]

_HOLD_S = 0.5
Observer = Callable[[Plan], Callable[[Record], None]]
"""Given the plan, what wants to hear each record as it comes."""


@dataclass(frozen=True, slots=True)
class RunResult:
    document: dict[str, Any]
    """as in result.json"""
    history: list[Record]
    run_dir: Path
    captures: tuple[Path, ...] = ()
    """captures that were kept in the run directory: of a run that did not pass, and with `pcap`"""
    took_s: float = 0.0
    """by the clock on the wall"""

    @property
    def exit_code(self) -> int:
        return Verdict(self.document["verdict"]).exit_code


def _emulated() -> World:
    from testbed.worlds.emulated import EmulatedWorld

    return EmulatedWorld()


def _simulated(taps: Mapping[str, MemoryTap] | None = None, real_limit_s: float | None = None) -> World:
    from testbed.worlds.simulated import SimulatedWorld

    return SimulatedWorld(taps, real_limit_s)


def _lab() -> World:
    from testbed.lab.find import find_inventory
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
    plan: Plan | None = None,
    options: RunOptions | None = None,
) -> RunResult:
    """Run it, judge it, write the run directory (`out`, or `runs/<time>-<name>-<seed>`), return all of it.

    `world`: a world that is there already, instead of the one that the scenario names. `plan`: of this scenario, where
    the caller has it already.

    With `dilation: auto` the factor is chosen for this machine. A run that had not enough CPU time is made again with
    twice the factor. Where that changed nothing, it is made again with a factor at which frames arrive one by one.
    There are at most three further runs, as long as the traffic of all attempts takes no more than LONGEST_S. What the
    attempts before left is in `attempts/` of the run directory.

    Raises HostCapabilityError before anything is made when this machine lacks the memory, and when there is no room for
    what is written. Raises ScenarioError when `out` holds files already or others could change it. Raises whatever the
    world raises. What was recorded until then is in the run directory, also when this process is killed.
    """
    options = options or RunOptions()
    say, limit_s = options.say, options.real_limit_s
    if world is None:
        is_limited = scenario.world == "simulated" and limit_s is not None
        world = _simulated(real_limit_s=limit_s) if is_limited else create_world(scenario.world)
    plan = plan or make_plan(scenario)
    own = load_checkers(options.checks, (part.scenario.job.protocol for part in plan.parts))
    require_memory(plan)
    automatic = scenario.dilation is None and world.name == "emulated"
    if automatic:
        # What does not follow from the plan alone, as a card of a lab, keeps its own time.
        scenario = with_dilation(scenario, choose_for_machine(plan, say) if has_twin(world) else 1)
        plan = make_plan(scenario)
    run_dir = _make_run_dir(scenario, out)
    tried: list[int] = []
    before: dict[str, Any] | None = None
    spent_s = 0.0
    while True:
        with needs_room(run_dir), seldom():
            result = _run_in(run_dir, scenario, plan, world, _Watching(pcap, observer), options, tried, own)
        again = automatic and has_twin(world) and len(tried) < MOST_ATTEMPTS
        spent_s += (scenario.dilation or 1) * (result.document["metrics"].get("duration_s") or 0.0)
        factor = twice(scenario, result.document, spent_s) if again else None
        if factor is None:
            return result
        assert scenario.dilation is not None
        reason = result.document["fidelity"]["reasons"][0]
        found = f"at dilation {scenario.dilation} this machine had too little CPU time ({reason})"
        if is_settled(result.document, before):
            found = "JCT did not change at twice the dilation, so CPU time is not the cause"
            factor = exact_factor(plan, result.document, spent_s)
            if factor is None:
                say(found)
                return result
        before = result.document
        say(f"{found}; retrying at dilation {factor}")
        put_away(run_dir, scenario.dilation)
        tried.append(scenario.dilation)
        scenario = with_dilation(scenario, factor)
        plan = make_plan(scenario)


def judge_scenario(scenario: Scenario, replay: str, history: list[Record] | None = None) -> dict[str, Any]:
    """Run it and judge it, and leave nothing but what is returned: the document of result.json. `replay`: the command
    that repeats it. `history`: what was recorded is added there. Raises as `run_scenario`."""
    with scratch() as folder, seldom():
        if scenario.world != "simulated":
            result = run_scenario(scenario, folder / "run")
            if history is not None:
                history += result.history
            return result.document | {"replay": replay}
        with doing("planning"):
            plan, records = make_plan(scenario), list[Record]()
        require_memory(plan)
        # Nobody reads these captures but the checkers: files would be written, and read, for nothing.
        taps = _memory_taps(plan)
        facts = _simulated(taps).run(plan, folder, records.append)
        captures = facts.captures if taps is None else tuple(taps.values())
        facts = replace(facts, environment=facts.environment | versions_of(scenario))
        with doing("judging"):
            context = CheckContext(facts.plan or plan, sort_history(records), captures)
            if history is not None:
                history += context.history
            return judge(context, facts, world=scenario.world, replay=replay)


def _memory_taps(plan: Plan) -> dict[str, MemoryTap] | None:
    """None: captures are files, since a program of the user's own runs in another process."""
    scenario = plan.scenario
    if is_own_program(scenario.switch.program) or is_own_code(scenario.job.protocol):
        return None
    names = [config.name for config in plan.switches] if scenario.capture else []
    links = {name: [link.name for _, link, _ in sorted(scenario.topology.ports(name))] for name in names}
    return {name: MemoryTap(name, links[name]) for name in names}


@dataclass(frozen=True, slots=True)
class _Watching:
    """Who wants what of a run in addition to its history: packets by link, and each record as it comes."""

    pcap: bool
    observer: Observer | None


def _run_in(
    run_dir: Path,
    scenario: Scenario,
    plan: Plan,
    world: World,
    watching: _Watching,
    options: RunOptions,
    tried: Sequence[int],
    own: Mapping[str, Checker],
) -> RunResult:
    """`own`: checkers of the user's, as he named them."""
    write_file(run_dir / "scenario.yaml", _scenario_text(scenario))
    tell = watching.observer(plan) if watching.observer else None
    # In virtual time records come in quick succession; in real time nothing may follow for a minute.
    with HistoryLog(run_dir / "history.jsonl", hold_s=_HOLD_S if world.name == "simulated" else 0.0) as log:

        def on_record(record: Record) -> None:
            log.add(record)
            if tell is not None:
                tell(record)

        began = time.monotonic()
        facts = world.run(plan, run_dir, on_record)
        took_s = time.monotonic() - began
    with doing("reading the history"):
        history = sort_history(log.records)
        facts = replace(facts, environment=facts.environment | versions_of(scenario))
        plan = facts.plan or plan
        context = CheckContext(plan, history, facts.captures)
    more = getattr(world, "replay_options", "")  # of worlds that the scenario alone does not name
    verb = getattr(world, "replay_verb", "run")  # likewise
    words = ["tb", verb, f"{near(run_dir)}/scenario.yaml", *code_words(scenario)]
    words += [word for name in own for word in ("--check", name)]
    compared = None

    def keep(reference: Sequence[Record]) -> None:
        write_file(run_dir / REFERENCE, reference_text(reference, history, plan.scenario))

    if options.twin and has_twin(world):
        with doing("running the same plan in virtual time"):
            compared = make_twin(plan, figures_of(metrics(context)), took_s, facts, options.say, keep)
    with doing("judging"):
        document = judge(
            context, facts, world=scenario.world, replay=shell_words(words) + more, twin=compared, tried=tried,
            more=tuple(own.values()),
        )  # fmt: skip
    with doing("writing the report"):
        write_file(run_dir / "result.json", to_json(document))
        write_file(run_dir / "junit.xml", junit_xml(document, took_s))
        captures = _keep_captures(document, facts.captures, run_dir, plan, pcap=watching.pcap)
        write_file(run_dir / "report.html", html_report(document, history, plan.scenario, about(run_dir)))
    return RunResult(document, history, run_dir, captures, took_s)


def _keep_captures(
    document: dict[str, Any], captures: Sequence[Path], run_dir: Path, plan: Plan, *, pcap: bool
) -> tuple[Path, ...]:
    """Captures that stay: all those of a run that did not pass. Those of other runs are large and hardly ever read."""
    if pcap:
        for capture in captures:
            # A link between two switches is in the captures of both.
            folder = run_dir / "pcap"
            split_by_link(capture, folder / capture.stem if len(plan.switches) > 1 else folder)
    elif document["verdict"] == Verdict.PASS:
        for capture in captures:
            capture.unlink()
        return ()
    return tuple(captures)


def read_result(run_dir: Path) -> dict[str, Any]:
    """result.json of a finished run; it has a verdict and a world. Raises ScenarioError when the folder is no finished
    run, or when the file does not fit its schema."""
    path = run_dir / "result.json"
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise _unfinished(run_dir) from error
    except OSError as error:
        raise ScenarioError("cannot be read", file=str(path), found=error.strerror or str(error)) from error
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
    if (wrong := misfit_of_result(document)) is not None:
        raise ScenarioError(
            "damaged, or of another version of ina-testbed", file=str(path), key=wrong[0], found=wrong[1],
            allowed=wrong[2],
        )  # fmt: skip
    return document


def _unfinished(run_dir: Path) -> ScenarioError:
    """There is no result.json: what there is instead, and what it is good for."""
    if not (run_dir / "scenario.yaml").is_file():
        found = "no scenario.yaml and no result.json in it" if run_dir.is_dir() else "no such directory"
        return ScenarioError("not a run directory", file=str(run_dir), found=found, allowed="as runs/latest")
    try:
        records = len(load_history(run_dir).records)
    except ScenarioError:
        records = 0
    drawn = f"`tb timeline {shell_word(near(run_dir))}` draws them"
    left = f"{records:,} records of history ({drawn})" if records else "no history"
    return ScenarioError(
        "this run did not end: it was killed, or still goes on, and there is no verdict to compare with",
        file=str(run_dir), found=f"scenario.yaml, {left}, no result.json",
        allowed=f"a run that ended; `tb run {shell_word(near(run_dir / 'scenario.yaml'))}` runs it again",
    )  # fmt: skip


def _scenario_text(scenario: Scenario) -> str:
    """A file that loads: it names the program of ours in place of the user's own, and says so."""
    words = code_words(scenario)
    preface = (
        f"# It ran with {shell_words(words)}, which a file cannot say: give that on the command line.\n"
        if words
        else ""
    )
    return preface + dump_scenario(with_stock_code(scenario))


def _make_run_dir(scenario: Scenario, out: Path | None) -> Path:
    """Raises ScenarioError for a folder that others could change, that cannot be made, or that holds files already."""
    if out is not None:
        require_trusted(out, file="--out")
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ScenarioError("is not an empty directory", file="--out", found=str(out), allowed="a new directory")
        with _unwritable_told(out, "--out"):
            make_folder(out)
        return out.resolve()
    runs = Path.cwd() / "runs"
    require_trusted(runs)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for attempt in range(1000):
        suffix = f"-{attempt}" if attempt else ""
        run_dir = runs / f"{stamp}-{scenario.name}-{scenario.seed}{suffix}"
        try:
            with _unwritable_told(runs, str(runs)):
                make_folder(run_dir, fresh=True)
        except FileExistsError:
            continue
        _point_latest(runs, run_dir)
        return run_dir
    raise ScenarioError("holds a thousand runs of this second", file=str(runs))


@contextmanager
def _unwritable_told(folder: Path, where: str) -> Iterator[None]:
    """Raises ScenarioError for a folder that cannot be made; FileExistsError stays what it is."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise ScenarioError(problem, file=where, found=str(folder)) from error


def _point_latest(runs: Path, run_dir: Path) -> None:
    """Replace `runs/latest` in one step, so that a reader never finds it missing. Where links cannot be made (a file
    system or a system without them) there is none: it is a convenience, and every command prints its run directory."""
    fresh = runs / f".latest-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        fresh.symlink_to(run_dir.name)
    except (OSError, NotImplementedError):
        return
    fresh.replace(runs / "latest")
