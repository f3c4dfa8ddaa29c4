from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.cli import main


def test_the_rules_of_a_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["steering", "accelerator", "--json"]) == 0
    [table] = json.loads(capsys.readouterr().out)["switches"]
    rows = {row["name"]: row for row in table["rows"]}
    assert rows["steer-h1-h2"]["match"] == "in_port=0 ipv4_src=10.77.0.2 ipv4_dst=10.77.0.3 ip_dscp=26 udp_dst=4791"
    assert rows["steer-h1-h2"]["action"] == "port 4"
    assert rows["steer-h1-h2"]["packets"] is None


def test_what_is_left_when_a_port_dies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["steering", "accelerator", "--down", "s1:5"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("s1: ports down: 5; fallback: no data is led to the accelerator\n")
    assert "fallback-h1-h2" in text


def test_equal_ports_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["steering", "spine-leaf-ring"]) == 0
    assert "one of port 2, 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["rack"],
            "no switch of this scenario is a commodity switch",
        ),
        (["accelerator", "--down", "s1:6"], "no such port of a commodity switch; found 's1:6'; allowed: s1:0 .. s1:5"),
        (["accelerator", "--down", "a1:0"], "found 'a1:0'"),
    ],
)
def test_mistakes(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["steering", *words]) == 64
    assert message in capsys.readouterr().err


def test_a_folder_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["steering", str(tmp_path)]) == 64
    assert "is no run directory" in capsys.readouterr().err


def test_a_run_shows_what_its_controller_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"name": "steer-h1-h2", "priority": 200, "match": "x", "action": "port 4", "packets": 1234, "bytes": 9}
    switch = {"switch": "s1", "down": [], "fallback": False, "rows": [row]}
    (tmp_path / "steering.json").write_text(json.dumps({"schema": 1, "switches": [switch]}))
    told = {"t": 2_500_000, "node": "s1", "event": "RulesInstalled", "reason": "port 5 of s1 is down"}
    told |= {"down": [5], "fallback": True, "kept": 11, "added": 4, "removed": 4}
    (tmp_path / "history.jsonl").write_text(json.dumps(told) + "\n")
    assert main(["steering", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "1,234" in text
    assert "0.003 s  s1: port 5 of s1 is down: 11 entries kept, 4 added, 4 removed, the fallback" in text
