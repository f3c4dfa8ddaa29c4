"""What `tb sweep` tells, writes and refuses."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from testbed.cli import main
from testbed.sweeps import scenario_engine
from testbed.terminal import ticker


def test_an_interrupted_command_says_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scenario_engine, "run_scenario_sweep", stopped)
    assert main(["sweep", "rack", "--seeds", "2", "--world", "simulated", "--out", str(tmp_path / "mine")]) == 130
    assert capsys.readouterr().err == f"tb: interrupted; the same command goes on where {tmp_path}/mine stands\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_told_to_end_leaves_no_process_at_work(tmp_path: Path, number: signal.Signals) -> None:
    words = [
        "sweep",
        "rack-lossy",
        "--seeds",
        "40",
        "--world",
        "simulated",
        "--jobs",
        "2",
        "--out",
        str(tmp_path / "s"),
    ]
    command = subprocess.Popen(
        [sys.executable, "-P", "-m", "testbed", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while len(workers := _children(command.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(workers) == 2
    command.send_signal(number)
    _, said = command.communicate(timeout=60)
    assert command.returncode == 130
    assert said.endswith(f"tb: interrupted; the same command goes on where {tmp_path}/s stands\n")
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def _children(pid: int) -> list[int]:
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def test_the_command_tells_and_writes_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(ticker, "SILENT_S", math.inf)  # however busy the machine is
    words = [
        "sweep",
        "rack-lossy",
        "--axis",
        "faults.loss.rate=0,5%",
        "--seeds",
        "3",
        "--world",
        "simulated",
        "--set",
        "job.size=8kB",
    ]
    assert main([*words, "--set", "transport.timeout=10", "--jobs", "1", "--plot", "--matrix"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "rack-lossy: 6 runs at 2 points: 6 pass" in told.out
    assert "jct_s, median of 3 seeds (range: 75.0 % confidence interval of the median)" in told.out
    names = {path.name for path in (tmp_path / "runs/sweeps/rack-lossy").iterdir()}
    assert names == {
        "matrix.html", "plot-jct_s.pdf", "plot-jct_s.py", "plot-jct_s.svg", "points", "results.csv", "results.json",
        "results.jsonl", "summary.csv", "sweep.json",
    }  # fmt: skip
    assert main([*words, "--set", "transport.timeout=10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == {"pass": 6}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["rakc"], ("tb sweep: no such sweep or scenario; found 'rakc'; allowed: a file (*.yaml), or a name from `tb "
                    "list sweeps` or "
                   "`tb list scenarios`; did you mean 'rack'?\n")),
        (["rack"], ("tb sweep: axes: nothing is varied; allowed: an axis, several scenarios, protocols, worlds or "
                   "seeds; `tb run rack` runs it once\n")),
        (["rack", "--model", "flow", "--seeds", "2"], ("tb sweep: --model: means nothing for scenarios; allowed: with "
                                                       "a "
                                                      "sweep of models\n")),
        (["rack", "--seeds", "0"], ("tb: --seeds: seeds: not seeds; found 0; allowed: how many (1 to 10,000), or a "
                                    "list "
                                   "of whole numbers from 0 to 2^63-1\n")),
        (["rack", "--seeds", "10000", "--axis", "topology.hosts=2,3,4"],
         ("tb sweep: axes: too many points; found 30,000; allowed: at most 20,000 runs; shorten an axis, or take fewer "
         "seeds\n")),
        (["rack", "--protocols", "netreduce,switchlm"],
         "tb: --protocols: protocols[1]: no such protocol of sweeps; found 'switchlm'; allowed: atp, binomial_tree, "),
        (["rack", "--world", "simulated,real", "--seeds", "2"], ("tb: --world: worlds[1]: no such world; found 'real'; "
                                                                "allowed: emulated, simulated, lab\n")),
        (["netreduce-scale", "--seeds", "2"], ("tb sweep: --seeds: means nothing for a sweep of models; allowed: with "
                                              "scenarios\n")),
        (["netreduce-scale", "--matrix"], ("tb sweep: --matrix: means nothing for a sweep of models; allowed: with "
                                          "scenarios\n")),
        (["netreduce-scale", "--axis", "gpu=32"], ("tb: --axis: parameters.gpu: unknown parameter of machines; "
                                                   "allowed: "
                                                  "gpus, ")),
        (["rack", "--axis", "topology.host=2,3", "--world", "simulated"],
            ("tb: playbooks/scenarios/rack.yaml (topology.host=2, world=simulated): topology.host: unknown key; "
            "allowed: kind, hosts, link, links; did you mean 'hosts'?\n")),
        (["rack", "--axis", "topology.hosts=2,3", "--axis", "topology.hosts=4"],
         ("tb: --axis: topology.hosts: an axis stands twice; found 4; allowed: each key once, with all its values: "
         "topology.hosts=VALUE,VALUE,...\n")),
        (["rack-lossy", "--axis", "faults.lost.rate=0,1%", "--world", "simulated"],
         ("tb: playbooks/scenarios/rack-lossy.yaml (faults.lost.rate=0, world=simulated): faults: no such entry; "
         "found 'lost'; allowed: 0, loss\n")),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_is_made(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *words]) == 64
    assert capsys.readouterr().err.startswith(text)
    assert not list(tmp_path.iterdir())
