"""A switch program of a user's own tells what is not its to tell: attacks that a verdict must not fall for."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import testbed.history.events
import testbed.history.pfc_events
import testbed.history.training_events
from testbed.cli import main
from testbed.history.eventkinds import KNOWN_KINDS
from testbed.history.lab_events import LabStep
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.emulated.fleet import Fleet
from testbed.worlds.event_sources import _KINDS_OF, misplaced
from tests.support.records import a_record
from tests.support.worked_out_ahead import work_out
from workloads.errors import InternalError, ScenarioError

LIARS = "tests/support/lying_programs.py"
NETREDUCE = """
name: forged
topology: {kind: rack, hosts: 2, link: {rate: 100Mbps}}
job: {size: 4kB, message_packets: 2, window_messages: 2}
capture: false
dilation: 10
time_limit: 300ms
"""
SWITCHML = """
name: forged
topology: {kind: rack, hosts: 2, link: {rate: 100Mbps}}
switch: {program: switchml, memory: 40}
job: {protocol: switchml, size: 2kB, window_packets: 4}
dilation: 10
time_limit: 300ms
"""
FAULT = """faults: [{kind: loss, name: gone, links: [h1-s1], direction: up, rate: 1%, from: 299ms}]
"""


def run(tmp_path: Path, text: str, program: str, world: str = "simulated") -> int:
    file = tmp_path / "forged.yaml"
    file.write_text(text + FAULT, encoding="utf-8")
    work_out(make_plan(load_scenario(str(file), [])))
    words = ["run", str(file), "--set", f"switch.program={LIARS}:{program}", "--world", world, "--json"]
    return main([*words, "--out", str(tmp_path / "run")])


ATTACKS = [
    (NETREDUCE, "Forger", "lies", "it reported CollectiveStarted, which others report"),
    (SWITCHML, "BlockForger", "lies", "it reported CollectiveStarted, which others report"),
    (NETREDUCE, "TellsAStrike", "lie", "it reported FaultStruck, which others report"),
    (SWITCHML, "TellsAStrike", "lie", "it reported FaultStruck, which others report"),
    (NETREDUCE, "TellsADigest", "lie", "it reported CollectiveCompleted, which others report"),
    (NETREDUCE, "NamesAWorker", "lie", "it reported MessageAggregated, of another class than ours"),
    (NETREDUCE, "NamesAWorkerAnew", "lie", ("event Mine has a field node, which who records it fills; allowed is any "
                                           "other name")),
    (NETREDUCE, "RenamesItsOwn", "lie", "it reported FaultStruck, which others report"),
    (SWITCHML, "QueuesAStrike", "next_event", "it reported FaultStruck, which others report"),
]  # fmt: skip


def check(told: str, program: str, function: str, problem: str) -> None:
    assert f"class {program}: the program's own code failed on switch s1 in {function}: ValueError: {problem}" in told
    assert told.startswith(f"tb: {LIARS}:"), told


@pytest.mark.parametrize(("text", "program", "function", "problem"), ATTACKS)
def test_what_is_not_the_programs_to_tell_is_its_fault(tmp_path, capsys, text, program, function, problem):
    code = run(tmp_path, text, program)
    told = capsys.readouterr()
    if code == 0:
        pytest.fail(f"passed: {json.loads(told.out)['checks']}")
    assert code == 64, told.err
    check("tb: " + told.err.partition("tb: ")[2], program, "finish" if function == "lies" else function, problem)


@pytest.mark.root
@pytest.mark.mininet
@pytest.mark.parametrize(("text", "program", "function", "problem"), [ATTACKS[0], ATTACKS[1], ATTACKS[3], ATTACKS[-1]])
def test_so_it_is_between_namespaces(tmp_path, capsys, text, program, function, problem):
    assert run(tmp_path, text, program, "emulated") == 64
    told = capsys.readouterr().err
    check("tb: " + told.partition("tb: ")[2], program, "finish" if function == "lies" else function, problem)


@pytest.mark.parametrize(
    "world", ["simulated", pytest.param("emulated", marks=[pytest.mark.root, pytest.mark.mininet])]
)
def test_who_goes_past_all_that_watches_it_is_caught_where_records_are_made(tmp_path, capsys, world):
    assert run(tmp_path, NETREDUCE, "AnswersForItself", world) == 64
    assert (
        f"switch.program: the program {LIARS}:AnswersForItself of switch s1 reported an event that it must not "
        f"report: it reported "
        "FaultStruck, "
        "which others report"
    ) in capsys.readouterr().err


def test_a_fault_that_only_the_program_saw_did_not_strike(tmp_path, capsys):
    """And events of a user's own are recorded."""
    assert run(tmp_path, NETREDUCE, "TellsItsOwn") == 1  # it forwards, and sums nothing
    history = [json.loads(line) for line in (tmp_path / "run" / "history.jsonl").read_text().splitlines()]
    own = [record for record in history if record["event"] in ("FaultStruckByMe", "SlotsAtEndOfMine")]
    assert [record["node"] for record in own] == ["s1", "s1"]
    assert json.loads(capsys.readouterr().out)["faults"][0]["strikes"] == 0


@pytest.mark.parametrize(
    ("role", "node", "record", "problem"),
    [
        ("switch", "s1", a_record(0, "s1", "MessageAggregated"), None),
        ("switch", "s1", a_record(0, "s1", "FaultStruck"), None),
        ("switch", "s1", a_record(0, "s1", "OfMyOwn"), None),
        ("switch", "s1", a_record(0, "h1", "MessageAggregated"), ("the switch s1 reported MessageAggregated in "
                                                                  "the name of "
                                                                 "h1")),
        ("switch", "s1", a_record(0, "s1", "WorkerFinished"), ("the switch s1 reported WorkerFinished, which a "
                                                              "switch must not report")),
        ("switch", "s1", a_record(0, "s1", "TrafficStarted"), ("the switch s1 reported TrafficStarted, which a "
                                                              "switch must not report")),
        ("host", "h1", a_record(0, "h1", "WorkerFinished"), None),
        ("host", "h1", a_record(0, "h1", "BlockSummed"), None),
        ("host", "h1", a_record(0, "world", "WorkerFinished"), ("the host h1 reported WorkerFinished in the name "
                                                               "of world")),
        ("host", "h1", a_record(0, "h1", "MessageAggregated"), ("the host h1 reported MessageAggregated, which a "
                                                               "host must not report")),
        ("controller", "controller", a_record(0, "s2", "RulesInstalled"), None),
        ("controller", "controller", a_record(0, "s2", "SlotsAtEnd"), ("the controller controller reported SlotsAtEnd, "
                                                                      "which a controller must not report")),
    ],
)  # fmt: skip
def test_each_process_tells_what_is_its_own(role, node, record, problem):
    assert misplaced(role, node, record) == problem


def test_all_that_histories_hold_is_somebodys_to_tell():
    """A kind that is added must be given a teller: a program, another part of a node, or the world."""
    by_nodes = {kind for kinds in _KINDS_OF.values() for kind in kinds}
    told_by_world = (testbed.history.events, testbed.history.pfc_events, testbed.history.training_events)
    by_world = {kind for module in told_by_world for kind in vars(module).values() if isinstance(kind, type)}
    assert KNOWN_KINDS - by_nodes - by_world == {LabStep}


@pytest.mark.parametrize(("program", "error"), [("netreduce", InternalError), (f"{LIARS}:TellsItsOwn", ScenarioError)])
def test_what_a_process_sends_is_a_record_or_ends_the_run(program, error):
    scenario = SimpleNamespace(switch=SimpleNamespace(program=program))
    place = SimpleNamespace(name="s1", role="switch")
    node = SimpleNamespace(task=SimpleNamespace(node=place, plan=SimpleNamespace(scenario=scenario)))
    told = {"t": 0, "node": "s1", "event": "BlockSummed", "job": 1, "block": "x", "slot": 0, "contributions": []}
    with pytest.raises(
        error, match="the switch s1 reported what is no record: block of BlockSummed: 'x', not a whole number"
    ):
        Fleet._record(None, node, told)
