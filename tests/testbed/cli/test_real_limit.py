"""`tb run --real-limit`: a run in virtual time that takes longer than it may."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import testbed as tb
from testbed.cli.main import main
from workloads.errors import ScenarioError

_LONG = ("run", "ring", "--world", "simulated", "--set", "job.iterations=200")


def test_it_ends_with_unknown_and_leaves_all_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r"
    assert main([*_LONG, "--real-limit", "50ms", "--out", str(out)]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "ended after 50.0 ms of real time at " in said
    assert "--real-limit 1h allows more time" in said
    document = json.loads((out / "result.json").read_text())
    assert document["verdict"] == "unknown"
    checks = {check["name"]: check["verdict"] for check in document["checks"]}
    assert checks["liveness"] == "unknown"
    assert "fail" not in checks.values()
    assert "RealLimitReached" in (out / "history.jsonl").read_text()
    assert (out / "report.html").is_file()


def test_a_run_that_is_quick_enough_passes(tmp_path: Path) -> None:
    for words in ((), ("--real-limit", "1h"), ("--real-limit", "none")):
        assert (
            main(["run", "ring", "--world", "simulated", *words, "--out", str(tmp_path / "_".join(("r", *words)))]) == 0
        )


@pytest.mark.parametrize("text", ["0", "0s", "-1s", "soon", "1e400s"])
def test_a_limit_is_a_duration(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*_LONG, f"--real-limit={text}"]) == 64
    assert "--real-limit" in capsys.readouterr().err


def test_other_worlds_have_a_limit_already(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert main(["run", "rack", "--world", "emulated", "--real-limit", "1h"]) == 64
    assert "--real-limit: means nothing in this world" in " ".join(capsys.readouterr().err.split())


def test_python_has_it_too(tmp_path: Path) -> None:
    run = tb.run("ring", world="simulated", set={"job.iterations": 200}, out=tmp_path / "r", real_limit_s=0.05)
    assert run.verdict == "unknown"
    assert len(run.events("RealLimitReached")) == 1
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(ScenarioError, match="real_limit_s"):
            tb.run("ring", world="simulated", real_limit_s=wrong, out=tmp_path / "s")
