from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.cli import main


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
    assert "--svg: cannot be written: No such file or directory" in capsys.readouterr().err


def test_infeasible_input_is_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", "grid-triangle", "--switch-capacity", "0"]) == 64
    assert "no switch can aggregate anything, all have capacity 0; found binding: s1, s2, s3" in capsys.readouterr().err


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
    ],
)
def test_benches_of_plans_that_are_none(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 64
    assert capsys.readouterr().err.startswith(f"tb: {said}")
