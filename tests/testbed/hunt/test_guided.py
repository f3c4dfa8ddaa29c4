"""Guided hunts: the same seed gives the same hunt, however it runs; planted bugs are found, and replay."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.cli import main
from testbed.hunt import guided
from testbed.hunt.corpus import COMMON
from testbed.hunt.guided import run_guided
from testbed.hunt.judge import Machines, judge_and_keep, run_and_judge
from testbed.hunt.mutation import GENERATION
from testbed.hunt.runner import Prey
from testbed.hunt.schedule import Schedule
from testbed.hunt.state import ChunkStore
from tests.support.datagram_planted import DATAGRAM_PLANTED
from tests.support.selection import some_at_once

TOP = Path(__file__).resolve().parents[3]
BROKEN = "tests/support/netreduce_mutants.py:NoReplay"
SWITCHML = Prey(1, 3 * GENERATION, program="switchml", kind="switchml")


def hunt(*words: object) -> int:
    return main(["hunt", "--guided", *map(str, words)])


def learnt(prey: Prey, jobs: int = 1, store: ChunkStore | None = None) -> tuple[object, ...]:
    found, corpus = run_guided(prey, jobs, store or ChunkStore())
    assert found.failure is None, (found.number, found.failure)
    entries = [(entry.number, entry.words, entry.chosen) for entry in corpus.entries]
    return found.coverage.as_json(), corpus.first, corpus.hits, corpus.curve, entries


def test_the_same_seed_gives_the_same_hunt_whatever_the_processes() -> None:
    once = learnt(SWITCHML)
    assert learnt(SWITCHML, 2) == once
    assert learnt(replace(SWITCHML, seed=2)) != once


def test_a_hunt_that_goes_on_is_the_same_hunt() -> None:
    whole = ChunkStore()
    once = learnt(SWITCHML, store=whole)
    part = ChunkStore()
    part.done = {first: chunk for first, chunk in whole.done.items() if first < GENERATION + 8 or first % 16 == 0}
    assert 0 < len(part.done) < len(whole.done)
    assert learnt(SWITCHML, store=part) == once


def test_the_log_forgets_what_is_common() -> None:
    """Else a hundred thousand schedules would fill a disk."""
    _, corpus = run_guided(replace(SWITCHML, schedules=6 * GENERATION), 1, ChunkStore())
    most = COMMON + GENERATION  # what a generation meets is counted whole
    assert max(corpus.fresh_hits.values()) < most < corpus.fresh


def test_mutated_schedules_meet_what_fresh_ones_do_not() -> None:
    _, corpus = run_guided(SWITCHML, 1, ChunkStore())
    children = [entry for entry in corpus.entries if entry.number % 2 and entry.number > GENERATION]
    assert len(children) > 4


def test_every_schedule_must_survive_by_construction() -> None:
    """Mutated ones are drawn by the same code: none has a fault without an end."""
    found, corpus = run_guided(replace(SWITCHML, seed=3), 1, ChunkStore())
    assert found.failure is None
    assert corpus.schedules == 3 * GENERATION


@pytest.mark.parametrize("name", some_at_once(DATAGRAM_PLANTED["switchml"], quick=("NoShadowCopy", "NeverForgets")))
def test_a_planted_bug_is_found_and_its_scenario_fails_alone(name: str) -> None:
    machines: Machines = DATAGRAM_PLANTED["switchml"][name]
    found, _ = run_guided(replace(SWITCHML, schedules=2000), 1, ChunkStore(), machines=machines)
    assert found.failure is not None
    again, scenario = found.scenario, found.scenario
    assert scenario is not None
    assert again == scenario, "each time it is drawn from the same dice"
    failure, _ = run_and_judge(scenario, machines)
    if failure is None:  # this one breaks the comparison with the run without a trace
        failure, _ = run_and_judge(replace(scenario, trace=False), machines)
    assert failure is not None
    assert failure.check == found.failure.check


def test_the_command_goes_on_and_reports_what_was_not_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "h"
    words = "--protocol", "switchml", "--schedules", 2 * GENERATION, "--seed", 4, "--out", out, "--json"
    assert hunt(*words) == 0
    whole = json.loads(capsys.readouterr().out)
    lines = (out / "chunks.jsonl").read_bytes().splitlines(keepends=True)
    (out / "chunks.jsonl").write_bytes(b"".join(lines[:11]) + lines[11][:100])  # as a killed process leaves it
    assert hunt(*words, "--jobs", 2) == 0
    again = capsys.readouterr()
    assert json.loads(again.out) == whole
    assert "44 of 64 schedules were done before" in again.err
    guided = whole["guided"]
    assert guided["schedules"] == guided["curve"][-1][0] == 2 * GENERATION
    assert guided["behaviours"] == guided["curve"][-1][1] > guided["by_mutation_alone"] > 0
    assert guided["fresh"] == 8 + (2 * GENERATION - 8) // 2, (
        "all of the first generation, and every other one behind it"
    )
    new = guided["next_brings_something_new"]
    assert 0 < new["low"] < new["value"] < new["high"] < 1
    assert not guided["may_stop"]
    assert "the next fresh schedule brings something new: " in again.err
    assert "go on until the upper bound of the first estimate is below 1 %" in " ".join(again.err.split())
    assert main(["hunt", *map(str, words)]) == 64
    assert "another hunt: its search differs; found 'guided' there, 'random' now" in capsys.readouterr().err


def test_a_random_hunt_from_before_there_were_guided_ones_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "h"
    words = ["hunt", "--schedules", "3", "--out", str(out), "-q"]
    assert main(words) == 0
    head = json.loads((out / "hunt.json").read_text())
    assert head.pop("search") == "random"
    (out / "hunt.json").write_text(json.dumps(head))
    assert main(words) == 0


def test_a_bug_is_found_shrunk_and_replayed_by_the_printed_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(TOP)
    out = tmp_path / "h"
    words = "--schedules", 200, "--set", f"switch.program={BROKEN}", "--out", out, "--json"
    assert hunt(*words) == 1
    document = json.loads(capsys.readouterr().out)
    failure = document["failure"]
    assert failure["minimal"]
    assert main([*shlex.split(failure["replay"])[1:], "--out", str(tmp_path / "run"), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert failure["check"] in [check["name"] for check in result["checks"] if check["verdict"] == "fail"]
    assert hunt(*words, "--jobs", 2) == 1  # reported again
    assert json.loads(capsys.readouterr().out) == document


def test_one_schedule_of_thirty_two_also_runs_without_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = list[int]()

    def seen(schedule: Schedule, machines: Machines, **how: bool) -> object:
        if how["twice"]:
            twice.append(schedule.number)
        return judge_and_keep(schedule, machines, **how)

    monkeypatch.setattr(guided, "judge_and_keep", seen)
    run_guided(SWITCHML, 1, ChunkStore())
    assert twice == [4, 36, 68]


def test_the_corpus_learns_after_the_first_few_schedules() -> None:
    _, corpus = run_guided(replace(SWITCHML, schedules=24), 1, ChunkStore())
    assert [schedules for schedules, _ in corpus.curve] == [8, 16, 24]
    assert any(entry.chosen for entry in corpus.entries)
