from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.cli import main

pytestmark = pytest.mark.protocols("grid")


def test_json_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", "grid-triangle", "--planner", "geryon", "--json"]) == 0
    text = capsys.readouterr().out
    document = json.loads(text)
    assert (document["schema"], document["planner"], document["min_rate_bps"]) == (1, "geryon", pytest.approx(1e7))
    saved = tmp_path / "plan.json"
    saved.write_text(text)
    assert main(["route", str(saved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == document
    assert main(["route", str(saved)]) == 0
    assert capsys.readouterr().out.startswith("planner geryon: slowest worker 10Mbps\n")


def test_a_saved_plan_that_does_not_hold_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", "grid-triangle", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    document["problem"]["capacity_bps"]["s1"] = 8e7
    saved = tmp_path / "plan.json"
    saved.write_text(json.dumps(document))
    assert main(["route", str(saved)]) == 1
    assert capsys.readouterr().err == "does not hold: s1: load 9e+07 above capacity 8e+07\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "not a plan: not a plan; allowed: what `tb route --json` wrote"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_plan(content: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "plan.json"
    if content is not None:
        saved.write_text(content)
    assert main(["route", str(saved)]) == 64
    assert capsys.readouterr().err == f"tb: {saved}: {said}\n"


def test_a_saved_plan_is_not_planned_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", "x.json", "--planner", "atp"]) == 64
    assert capsys.readouterr().err == (
        "tb: --planner: a saved plan is shown as it is; allowed: without a plan: a scenario\n"
    )


def test_capacities_of_switches(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["route", "grid-triangle", "--planner", "grid-exact", "--json", "--switch-capacity"]
    assert main([*words, "60Mbps"]) == 0
    assert json.loads(capsys.readouterr().out)["min_rate_bps"] == pytest.approx(2e7)
    assert main([*words, "60Mbps", "--switch-capacity", "s1=120Mbps"]) == 0
    assert json.loads(capsys.readouterr().out)["problem"]["capacity_bps"] == {"s1": 1.2e8, "s2": 6e7, "s3": 6e7}
    assert main([*words, "s1=fast"]) == 64
    assert "--switch-capacity: not a rate; found 's1=fast'; allowed: a number with bps" in capsys.readouterr().err


def test_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.svg"
    assert main(["route", "grid-triangle", "--svg", str(out)]) == 0
    assert "sums 90Mbps" in out.read_text()
    capsys.readouterr()
    assert main(["route", "grid-triangle", "--svg", str(tmp_path / "no" / "plan.svg")]) == 64
    assert "--svg: cannot be written; found No such file or directory" in capsys.readouterr().err


_GRID = "tb: playbooks/scenarios/grid/grid.yaml: routing: no plan: "
_PARTS = """
name: parts
topology:
  kind: custom
  nodes: [{name: w1, role: host}, {name: w2, role: host}, {name: ps, role: host}, {name: s1, role: switch}, {name: s2, role: switch}]
  links: [{ends: [w1, s1]}, {ends: [w2, s1]}, {ends: [ps, s2]}]
switch: {program: grid, memory: 16}
job: {protocol: grid, size: 10kB}
routing: {servers: [ps], capacity: 90Mbps}
"""  # noqa: E501


@pytest.mark.parametrize("command", ["route", "run"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--set", "routing.capacity=0"],
            "no switch can aggregate anything, all have capacity 0; found binding: s1, s2, s3",
        ),
        (
            ["--set", "routing.demand=91Mbps"],
            "a demand of 9.1e+07 bit/s is above the 9e+07 that the servers' links take; found binding: s3->ps",
        ),
        (
            ["--set", "routing.demand=31Mbps"],
            (
                "a demand of 3.1e+07 bit/s is above a worker's own link (3e+07); "
                "found binding: w1->s1, w2->s1, w3->s1, w4->s1, w5->s2, w6->s2, w7->s3, w8->s3"
            ),
        ),
        (
            ["--set", "routing.demand=29Mbps", "--set", "routing.planner=atp"],
            "atp gives 2.4375e+07 bit/s to the slowest worker, the demand is 2.9e+07; found binding: s1->s3, s1",
        ),
    ],
)
def test_infeasible_input_is_the_users(
    command: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "grid", *words]) == 64
    assert capsys.readouterr().err == f"{_GRID}{said}\n"


@pytest.mark.parametrize("command", ["route", "run"])
def test_a_server_that_is_not_reached_is_the_users(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = tmp_path / "parts.yaml"
    parts.write_text(_PARTS)
    assert main([command, str(parts)]) == 64
    assert capsys.readouterr().err == (
        f"tb: {parts}:6: topology.links: the network falls into 2 parts; found w1, w2, s1 | ps, s2; "
        "allowed: every node is reached from every other\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["grid", "--plan-only", "x"],
            "tb bench grid: --plan-only: no such table; found 'x'; allowed: all, sensitivity",
        ),
        (["fabric", "--plan-only"], "tb bench: --plan-only: only the bench grid makes plans; found 'fabric'"),
        (
            ["grid", "--plan-only", "--world", "simulated"],
            "tb bench: --world: plans are made in no world; allowed: without",
        ),
        (
            ["grid", "--plan-only", "growth", "--slower", "3"],
            "tb bench grid: --slower: tables of plans have no such option; allowed: --seeds, --json",
        ),
        (
            ["grid", "--plan-only", "growth", "--seeds", "3"],
            "tb bench grid: --seeds: only the table scale is drawn that often",
        ),
        pytest.param(
            ["grid", "--seeds", "3"],
            "tb bench: --seeds: grid has no such option; allowed: with ina",
            marks=pytest.mark.protocols("esa", "grid"),
        ),
        pytest.param(
            ["ina", "--slower", "2"],
            "tb bench: --slower: ina has no such option; allowed: with grid",
            marks=pytest.mark.protocols("esa", "grid"),
        ),
    ],
)
def test_benches_of_plans_that_are_none(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 64
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize("found", ["0", "101", "1.5"])
def test_a_bench_is_slower_by_a_whole_number(found: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "grid", "--slower", found]) == 64
    assert f"argument --slower: found '{found}'; allowed: a whole number from 1 to 100" in capsys.readouterr().err
