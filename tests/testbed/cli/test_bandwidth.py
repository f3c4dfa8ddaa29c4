"""`tb perf`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.cli import main
from testbed.sweeps import scenario_engine
from tests.support.nccl_text import read_nccl

REFUSED = 64
SHORT = ["perf", "all_reduce", "-b", "1K", "-e", "2K", "-f", "2", "-n", "2", "-w", "0", "--jobs", "1"]


@pytest.mark.protocols("netreduce", "ring")
def test_text_and_json_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")  # lines stay whole
    assert main([*SHORT, "--protocol", "netreduce,ring", "-J", "perf.json"]) == 0
    tables = read_nccl(capsys.readouterr().out)
    document = json.loads((tmp_path / "perf.json").read_text(encoding="utf-8"))
    assert [table.okay for table in tables] == [True, True]
    lines = [line for table in tables for line in table.lines]
    assert [(line.size, line.count) for line in lines] == 2 * [(1024, 256), (2048, 512)]
    for line, result in zip(lines, document["results"], strict=True):
        for side, name in ((line.out_of_place, "out_of_place"), (line.in_place, "in_place")):
            assert side.wrong == result[name]["nwrong"] == 0
            assert side.time_us == pytest.approx(result[name]["time"], abs=0.006)
            assert side.algbw == pytest.approx(result[name]["alg_bw"], abs=0.006)
            assert side.busbw == pytest.approx(1.5 * side.algbw, abs=0.02)
            figures = result[f"{name}_run"]["figures"]
            assert figures["algbw_bps"] == pytest.approx(8e9 * result[name]["alg_bw"])
            assert figures["wire.sent_per_rank_bytes"] > 2 * line.size
    assert document["config"]["path_mtu"] == {"netreduce": 4096, "ring": 4096}
    assert (tmp_path / "runs" / "perf" / "rack" / "results.csv").exists()


def test_quiet_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SHORT, "-e", "1K", "--quiet", "--out", str(tmp_path / "out"), "--json", str(tmp_path / "p.json")]
    assert main(words) == 0
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))["version"] == 3


def test_latency(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["perf", "all_reduce", "--latency", "-e", "8", "-n", "3", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    text = capsys.readouterr().out
    (table,) = read_nccl(text)
    assert [line.size for line in table.lines] == [4, 8]
    assert "# Time of an iteration (us)" in text


def test_a_job_that_does_not_end_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    late = ["--world", "simulated", "--set", "time_limit=1ms", "--out", str(tmp_path / "out"), "rack"]
    words = [*SHORT, "-e", "1K", *late]  # SCENARIO comes last
    assert main(words) == 1
    (table,) = read_nccl(text := capsys.readouterr().out)
    assert table.lines[0].out_of_place.time_us is None
    assert "# 1024 out of place: fail: liveness: " in text


def test_an_interrupted_command_says_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scenario_engine, "run_scenario_sweep", stopped)
    assert main([*SHORT, "--out", str(tmp_path / "mine")]) == 130
    assert capsys.readouterr().err == f"tb: interrupted; the same command goes on where {tmp_path}/mine stands\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-g", "8"], "-g/--ngpus of nccl-tests has no meaning here: a rank is a host of SCENARIO; --set"),
        (["--root", "0"], "tb perf: --root: all_reduce has no root; found 0; allowed: leave the option out"),
        (["-c"], "-c/--check of nccl-tests has no meaning here: every result is checked, bit for bit"),
        (["-b", "1KB"], "argument -b/--minbytes: found '1KB'; allowed: a number of bytes, or one with K (1024)"),
        (["-b", "0"], "argument -b/--minbytes: found '0'; allowed: a number of bytes"),
        (["-f", "1"], "argument -f/--stepfactor: found '1'; allowed: a whole number from 2 to 1024"),
        (["-d", "half"], "argument -d/--datatype: found 'half'; allowed: float, int32"),
        (["-o", "avg"], "argument -o/--op: found 'avg'; allowed: sum, max"),
        (["-i", "4"], "tb perf: -i: cannot be combined with -f; allowed: one of both"),
        (["--protocol", "ring,"], "argument --protocol: found 'ring,'; allowed: names with commas between them"),
        (["--world", "real"], "world"),
        (["--out", "/dev/null"], "tb perf: --out: is no folder; found /dev/null; allowed: a folder"),
        (["no-such"], "no such scenario; found 'no-such'"),
        (["rack", "ring"], "unrecognized arguments: rack ring"),
    ],
)
def test_what_is_refused(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, *words]) == REFUSED
    assert text in " ".join(capsys.readouterr().err.split())
