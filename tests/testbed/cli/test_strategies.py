from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from testbed.cli import main

pytestmark = pytest.mark.protocols("ring")

CHAIN = """\
name: mine
operators:
  - {name: a, weights: 40kB, activations: 8kB, compute: 4ms}
  - {name: b, weights: 8kB, activations: 80kB}
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(CHAIN)
    return str(path)


def test_a_frontier_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies", "alexnet", "--devices", "4", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["chain"] == "alexnet"
    assert document["bandwidth_bytes_per_s"] == 12.5e9
    assert document["all_reduce_factor"] == 1.5
    assert document["points"][-1]["strategy"] == "DP,DP,DP,DP,DP,MP,MP,MP"
    assert all(point["measured_s"] is None for point in document["points"])
    assert "5xDP, 3xMP" in err


def test_measured_plotted_and_written(mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot, table = tmp_path / "f.svg", tmp_path / "f.csv"
    words = ["--protocol", "netreduce", "--divide", "1", "--strategy", "DP", "--plot", str(plot), "--csv", str(table)]
    assert main(["strategies", mine, "--scenario", "rack", "--set", "topology.hosts=3", *words]) == 0
    out = capsys.readouterr().out
    assert "3 devices of 94.6 Mbit/s of payload each; an all-reduce sends 1 of a vector" in out
    lines = list(csv.DictReader(table.open()))
    assert {line["verdict"] for line in lines} == {"pass"}
    assert all(1 <= float(line["ratio"]) < 1.2 for line in lines)
    assert "DP,DP" in {line["strategy"] for line in lines}
    assert "measured in virtual time" in plot.read_text()


def test_batch_and_device(capsys: pytest.CaptureFixture[str]) -> None:
    documents = []
    for more in ([], ["--batch", "64", "--device-gflops", "20000"]):
        assert main(["strategies", "vgg16", "--devices", "2", "--json", *more]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    plain, twice = (document["operators"][0] for document in documents)
    assert twice["activations_bytes"] == 2 * plain["activations_bytes"]
    assert twice["compute_s"] == pytest.approx(plain["compute_s"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bert"], "tb strategies: no such model; found 'bert'; allowed: alexnet, vgg16, resnet50, or a file (*.yaml)"),
        (["alexnet"], "tb strategies: --devices: is missing; allowed: a whole number from 2, or --scenario"),
        (["none.yaml", "--devices", "2"], "none.yaml: no such file"),
        (
            ["alexnet", "--devices", "2", "--bandwidth", "fast"],
            "tb strategies: --bandwidth: not a rate; found 'fast'; allowed: ",
        ),
        (["alexnet", "--devices", "2", "--bandwidth", "0bps"], "bandwidth: not a bandwidth; found 0; allowed: above 0"),
        (
            ["alexnet", "--devices", "2", "--divide", "10"],
            "tb strategies: --divide: means nothing where nothing is measured; allowed: with --scenario",
        ),
        (
            ["alexnet", "--devices", "2", "--set", "seed=1"],
            "tb strategies: --set: means nothing where nothing is measured; allowed: with --scenario",
        ),
        (
            ["alexnet", "--scenario", "rack", "--bandwidth", "1Gbps"],
            "--bandwidth: follows from the links of the scenario; allowed: --set topology.link.rate=RATE",
        ),
        (
            ["alexnet", "--devices", "2", "--strategy", "DP,MP"],
            "tb strategies: --strategy: another number of operators; found 2; allowed: 8, or one word for all",
        ),
        (["alexnet", "--scenario", "rackk"], "no such scenario"),
        (["alexnet", "--scenario", "jobs-mix"], "jobs: has several jobs, whose protocols a sweep does not change"),
        (["alexnet", "--scenario", "accelerator", "--protocol", "netreduce"], "an accelerator next to its switch"),
        (["alexnet", "--devices", "2", "--csv", "/nowhere/x.csv"], "--csv: "),
    ],
)
def test_what_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies", *words]) == 64
    assert said in capsys.readouterr().err


def test_a_model_in_a_file_has_its_own_sizes(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies", mine, "--devices", "2", "--batch", "8"]) == 64
    assert "--batch: means nothing for a chain of your own" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--devices", "1"], ["--devices", "x"], ["--protocol", "shift"], ["--divide", "0"]])
def test_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies", "alexnet", *words]) == 64
    assert "`tb strategies --help` shows how it is used" in capsys.readouterr().err


def test_problems_of_a_file_are_told_with_key_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("name: bad\noperators:\n  - {name: a, weights: 4kB, activations: none}\nmore: 1\n")
    assert main(["strategies", str(path), "--devices", "2"]) == 64
    told = capsys.readouterr().err
    assert f"{path}:3: operators[0].activations: " in told
    assert f"{path}:4: more: unknown key" in told
