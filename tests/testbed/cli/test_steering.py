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


GOOD = {"t": 1, "node": "s1", "event": "SwitchLost"}


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("history.jsonl", b"\xff\xfe\n", "history.jsonl:1: cannot be read; found"),
        ("history.jsonl", b"{}\n", "history.jsonl:1: no record of a history; found"),
        ("history.jsonl", b"[" * 100_000 + b"\n", "history.jsonl:1: cannot be read; found"),
        ("history.jsonl", b'{"t": 1, "node": "s1", "event": "RulesInstalled"}\n',
            "history.jsonl:1: no record of a history"),
        ("steering.json", b"", "steering.json: is not what a run read from its tables; found"),
        ("steering.json", b"[]", "steering.json: is not what a run read from its tables; found"),
        ("steering.json", b"{}", "found no 'switches'; allowed: as a run wrote it"),
        ("steering.json", b'{"switches": [{"switch": "s1", "down": [], "fallback": false, "rows": [{"a": 1}]}]}',
            "found"),
        ("steering.json", b"\xff", "steering.json: is not what a run read from its tables; found"),
        ("steering.json", b"[" * 100_000, "steering.json: is not what a run read from its tables; found"),
    ],
)  # fmt: skip
def test_a_damaged_run_names_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, told: str
) -> None:
    (tmp_path / "steering.json").write_text(json.dumps({"schema": 1, "switches": []}))
    (tmp_path / name).write_bytes(content)
    assert main(["steering", str(tmp_path)]) == 64
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("packets", ["7", 1.5, [1]])
def test_counters_that_are_no_numbers_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], packets: object
) -> None:
    row = {"name": "x", "priority": 1, "match": "", "action": "", "packets": packets, "bytes": 1}
    switch = {"switch": "s1", "down": [], "fallback": False, "rows": [row]}
    (tmp_path / "steering.json").write_text(json.dumps({"switches": [switch]}))
    assert main(["steering", str(tmp_path)]) == 64
    assert "a row with other values" in capsys.readouterr().err


def test_a_history_that_was_cut_is_shown_up_to_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "steering.json").write_text(json.dumps({"schema": 1, "switches": []}))
    (tmp_path / "history.jsonl").write_text(json.dumps(GOOD) + '\n{"t": 2, "nod')
    assert main(["steering", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "s1: lost its controller's connection" in told.out
    assert told.err == f"tb: {tmp_path}/history.jsonl: the history is cut after line 1; what came later is not shown\n"
