"""What `tb validate` says of timers and headroom."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from testbed.cli.main import main
from testbed.scenario import load_scenario

FAST = ["--set", "topology.link.rate=10Gbps"]


def test_resolved_shows_each_value_behind_auto(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "irn-lossy", "--resolved"]) == 0
    out = capsys.readouterr().out
    for line in ("  timeout: auto  # 14 (67.1 ms)", "  rto_low: auto  # 1.07 ms", "  rto_high: auto  # 3.43 ms"):
        assert f"\n{line}\n" in out
    file = tmp_path / "resolved.yaml"
    file.write_text(out, encoding="utf-8")
    assert load_scenario(str(file)) == load_scenario("irn-lossy")


def test_resolved_shows_the_timers_of_every_collective(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "mixed-atp-rabenseifner", "--resolved"]) == 0
    out = capsys.readouterr().out
    rtos = [line.strip() for line in out.splitlines() if line.strip().startswith("rto: ")]
    assert len(rtos) == len(set(rtos)) == 2
    assert all(line.startswith("rto: auto  # ") for line in rtos)
    assert "\n    timeout: auto  # " in out
    assert yaml.safe_load(out)["transport"]["rto"] == "auto"


def test_a_fixed_timer_that_does_not_fit_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "rack", *FAST, "--set", "transport.timeout=15"]) == 0
    error = " ".join(capsys.readouterr().err.split())
    assert "transport.timeout: 15 (134 ms) is 448 times the worst queueing round trip (300 us)" in error
    assert main(["validate", "rack", *FAST]) == 0
    assert capsys.readouterr().err == ""


def test_programs_get_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "switchml", "--json", "--set", "transport.rto=1s"]) == 0
    document = json.loads(capsys.readouterr().out)
    (timers,) = document["timers"]
    assert timers["each"] == {"rto": {"ns": 1_000_000_000, "shown": "1.00 s", "auto": False}}
    assert timers["worst_round_trip_ns"] == timers["round_trip_ns"] + timers["queueing_ns"]
    (warning,) = timers["warnings"]
    assert document["warnings"] == [f"playbooks/scenarios/switchml/switchml.yaml: {warning}"]


def test_headroom_is_estimated_and_too_little_is_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "pfc-victim"]) == 0
    told = capsys.readouterr()
    text = " ".join(told.out.split())
    assert "pfc headroom of h1-leaf1 and 7 others: 4,666 B per port and class; 4,666 B lose nothing" in text
    assert "pfc buffer 200,000 B; headroom and reserves take at most 18,664 B" in text
    assert told.err == ""
    assert main(["validate", "pfc-victim", "--set", "pfc.headroom=4kB"]) == 0
    assert "h1-leaf1 has 4,000 B of headroom and needs 4,666 B" in " ".join(capsys.readouterr().err.split())
