from __future__ import annotations

import csv
from pathlib import Path

import pytest

from testbed.bench.peers.csvfile import COLUMNS, SampleFile
from tests.support.peer_samples import samples
from workloads.errors import ScenarioError


def test_every_sample_is_a_line_as_soon_as_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "peers.csv"
    found = samples()
    with SampleFile(path, "2 x a processor, Linux") as file:
        for count, sample in enumerate(found[:8], start=1):
            file.add(sample)
            assert len(path.read_text().splitlines()) == 1 + count
    rows = list(csv.DictReader(path.open()))
    assert tuple(rows[0]) == COLUMNS
    assert [row["subject"] for row in rows] == [sample.subject for sample in found[:8]]
    assert float(rows[1]["multiple"]) == pytest.approx(2.0)
    assert (rows[0]["dilation"], rows[0]["deviation"], rows[0]["fidelity"]) == ("1", "", "")
    assert (rows[2]["dilation"], rows[2]["deviation"], rows[2]["fidelity"]) == ("4", "-0.0100", "pass")
    assert {row["machine"] for row in rows} == {"2 x a processor, Linux"}


def test_no_file_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("mine")
    with pytest.raises(ScenarioError, match="--csv"):
        SampleFile(path, "")
    assert path.read_text() == "mine"


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be written"):
        SampleFile(tmp_path / "nowhere" / "peers.csv", "")
