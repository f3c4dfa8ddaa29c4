"""`tb hunt` in protocols over datagrams: what it tells of slots, servers and plans; and the real code, for long."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from switch_nodes.switchml.tables import LEAF_SLOT_TABLE
from testbed.cli import main
from testbed.hunt.protocols import PROTOCOLS
from testbed.hunt.runner import Prey, run_hunt
from testbed.hunt.state import ChunkStore
from tests.support.selection import some_at_once
from workloads.collectives.operations import OPERATIONS

TOP = Path(__file__).resolve().parents[3]


def hunt(*words):
    return main(["hunt", *map(str, words)])


def test_schedules_of_switchml_tell_the_steps_of_its_slots(tmp_path, capsys):
    out = tmp_path / "h"
    assert hunt("--protocol", "switchml", "--schedules", 64, "--out", out, "--json") == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["hunt"] == "Hunt in switchml"
    assert document["transitions"]["held"] == len(LEAF_SLOT_TABLE) == 19
    assert document["transitions"]["of"] == "switchml"
    assert document["transitions"]["taken"] > 5
    assert set(document["coverage"]["drawn"]) >= {"jobs", "workers of a job", "memory", "window", "blocks"}
    assert "retries" not in document["coverage"]["drawn"]
    assert hunt("--schedules", 64, "--out", out) == 64
    assert "another hunt: its kind differs; found 'switchml' there, 'rack' now" in capsys.readouterr().err


@pytest.mark.parametrize("program", ["atp", "esa"])
def test_steps_of_servers_are_told_beside_those_of_slots(tmp_path, capsys, program):
    assert hunt("--protocol", program, "--schedules", 24, "--out", tmp_path / "h", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    taken = {name.split()[0] for name in document["coverage"]["transitions"]}
    assert taken == {"slot", "block"}
    assert set(document["coverage"]["transitions"]) <= set(PROTOCOLS[program].steps)
    assert {"servers", "levels", "AIMD", "reclaim"} <= set(document["coverage"]["drawn"])


def test_steps_of_grid_are_told_with_its_plans(tmp_path, capsys):
    assert hunt("--protocol", "grid", "--schedules", 60, "--out", tmp_path / "h", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    coverage = document["coverage"]
    assert {name.split()[0] for name in coverage["transitions"]} == {"slot", "block"}
    assert set(coverage["transitions"]) <= set(PROTOCOLS["grid"].steps)
    assert not document["transitions"]["taken_though_impossible"]
    assert {"planner", "mode", "network", "on collision"} <= set(coverage["drawn"])
    assert set(coverage["drawn"]["network"]) == {"rack", "spine_leaf", "triangle"}


def test_a_hunt_in_a_scenario_of_grid(tmp_path, capsys):
    assert hunt("grid", "--set", "job.size=8kB", "--schedules", 4, "--out", tmp_path / "h", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["transitions"]["of"] == "grid"
    assert document["coverage"]["drawn"]["planner"] == {"grid": 4}


@pytest.mark.minutes
def test_grid_survives_two_hundred_schedules():
    found = run_hunt(Prey(20, 200, program="grid", kind="grid"), 1, ChunkStore())
    assert found.failure is None, (found.number, found.failure)
    assert len(found.coverage.struck) >= 10


def test_a_hunt_in_a_scenario_of_switchml(tmp_path, capsys):
    assert hunt("switchml-two-jobs", "--set", "job.size=8kB", "--schedules", 10, "--out", tmp_path / "h", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["transitions"]["of"] == "switchml"
    assert document["coverage"]["drawn"]["jobs"] == {"2": 10}


@pytest.mark.parametrize(
    "operation", some_at_once(["reduce_scatter", "all_gather", "broadcast", "reduce", "barrier"], quick=["all_gather"])
)
def test_a_hunt_in_the_operations_of_switchml(operation, tmp_path):
    changes = ["--set", f"job.operation={operation}", "--set", "job.size=9999B", "--set", "job.iterations=2"]
    if OPERATIONS[operation].sums:
        changes[3] = "job.size=10000B"
    if OPERATIONS[operation].has_root:
        changes += ["--set", "job.root=1"]
    assert hunt("switchml", *changes, "--schedules", 40, "--out", tmp_path / "h", "--json") == 0


@pytest.mark.parametrize("program", some_at_once(PROTOCOLS, quick=["switchml", "grid", "ring", "repair"]))
def test_each_protocol_survives_many_schedules(program):
    """Fewer of those between hosts, which have more connections and take longer."""
    hunted = PROTOCOLS[program]
    many = 200 if hunted.hunt.watches_slots else 80
    found = run_hunt(Prey(20, many, program=hunted.program, kind=program), min(2, os.cpu_count() or 1), ChunkStore())
    assert found.failure is None, (found.number, found.failure)
    assert len(found.coverage.struck) >= 8
