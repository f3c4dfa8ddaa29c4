"""The examples of docs/training.md, with few steps."""

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: the examples of trainings are not tested")

from tests.testbed.train.calls import Training

FOLDER = Path(__file__).resolve().parents[2] / "playbooks" / "training"


class Example(Training):
    def __init__(self, folder, name, *words):
        super().__init__(folder, *words, script=str(FOLDER / name))


@pytest.mark.parametrize(
    ("name", "all_reduces"), [("mlp.py", 20), pytest.param("transformer.py", 20, marks=pytest.mark.minutes)]
)
def test_an_example_learns_and_all_ranks_end_alike(tmp_path, name, all_reduces):
    example = Example(tmp_path, name, "--steps", "20")
    assert example.code == 0, example.err
    assert re.search(r"^\[rank 0\] step   20  loss \d\.\d{4}  ", example.out, re.MULTILINE)
    weights = re.findall(r"^\[rank \d\] weights of rank \d of 2: sha256 (\w{16})$", example.out, re.MULTILINE)
    assert len(weights) == 2
    assert len(set(weights)) == 1
    carried = re.search(r"posted the same (\d+) all-reduces in 20 steps", example.check("training")[1])
    assert int(carried[1]) >= all_reduces
    assert (int(carried[1]) > all_reduces) == (name == "transformer.py"), "several buckets"


def test_what_is_hidden_of_the_network_is_measured_and_drawn(tmp_path):
    words = ("--steps", "2", "--layers", "3", "--width", "32", "--compute", "1")
    example = Example(tmp_path, "overlap.py", *words)
    assert example.code == 0, example.err
    for name in ("backward pass alone", "all-reduces alone", "step", "both in sequence"):
        assert re.search(rf"^\[rank 0\] {name} +\d+\.\d ms", example.out, re.MULTILINE), example.out
    assert re.search(r"^\[rank 0\] the step takes \d+% of that$", example.out, re.MULTILINE)
    rows = re.findall(r"^\[rank 0\] (.{14})\|(.{64})\| +(\S+) to +(\S+) ms$", example.out, re.MULTILINE)
    assert [name.strip() for name, *_ in rows] == ["backward pass", "bucket 0", "bucket 1", "bucket 2"]
    computed = float(rows[0][3])
    # Never after it: a bucket is posted from within the backward pass.
    assert all(float(start) <= computed + 0.1 for _, _, start, _ in rows[1:-1])


def test_the_drawing_is_to_scale():
    timeline = runpy.run_path(str(FOLDER / "overlap.py"))["Timeline"]()
    timeline.computed, timeline.ended = 0.3, 0.4
    timeline.posted, timeline.summed = {0: 0.1, 1: 0.3}, {0: 0.2, 1: 0.4}
    assert timeline.lines() == [
        f"backward pass |{'#' * 48}{' ' * 16}|    0.0 to  300.0 ms",
        f"bucket 0      |{' ' * 16}{'#' * 16}{' ' * 32}|  100.0 to  200.0 ms",
        f"bucket 1      |{' ' * 48}{'#' * 16}|  300.0 to  400.0 ms",
    ]


@pytest.mark.minutes
@pytest.mark.protocols("dlcp")
def test_over_dlcp_models_drift_apart_and_the_verdict_says_so(tmp_path):
    """A gradient of 100 packets, of which 95 must come each way."""
    words = ("--hidden", "341", "--steps", "20", "--every", "10", "--all-ranks")
    script, options = str(FOLDER / "mlp.py"), ("--set", "job.loss_bound=5%")
    training = Training(tmp_path, *words, scenario="dlcp-lossy", options=options, script=script)
    assert training.code == 0, training.err
    assert len(re.findall(r"^\[rank [01]\] step +(?:10|20)  loss ", training.out, re.MULTILINE)) == 4
    weights = re.findall(r"^\[rank \d\] weights of rank \d of 2: sha256 (\w{16})$", training.out, re.MULTILINE)
    assert len(set(weights)) == 2
    verdict, detail = training.check("bounded_loss")
    assert verdict == "pass"
    assert "ranks got different sums of 20 of 20 pieces, so that their models drift apart" in detail
