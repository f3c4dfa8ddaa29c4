from __future__ import annotations

from pathlib import Path

import pytest

from testbed.bench.peers.exchange import all_there, read_seconds
from workloads.errors import InternalError


def _tell(folder: Path, *results: str) -> None:
    for rank, text in enumerate(results):
        (folder / f"result.{rank}").write_text(text)


def test_an_all_reduce_lasts_from_the_first_start_to_the_last_end(tmp_path: Path) -> None:
    _tell(tmp_path, "1000000000 2500000000 1\n", "900000000 2400000000 1\n")
    assert all_there(tmp_path, "result", 2)
    assert read_seconds(tmp_path, 2) == 1.6


def test_a_rank_that_still_writes_is_not_there(tmp_path: Path) -> None:
    _tell(tmp_path, "1 2 1\n", "1 2")
    assert not all_there(tmp_path, "result", 2)
    assert not all_there(tmp_path, "result", 3)


@pytest.mark.parametrize(("text", "problem"), [("1 2 0\n", "sum of rank 1 is wrong"), ("1 2\n", "reported no result")])
def test_a_wrong_sum_is_no_measurement(tmp_path: Path, text: str, problem: str) -> None:
    _tell(tmp_path, "1 2 1\n", text)
    with pytest.raises(InternalError, match=problem):
        read_seconds(tmp_path, 2)
