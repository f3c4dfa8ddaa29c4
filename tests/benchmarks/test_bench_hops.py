"""The table of hops, and its place in the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bench_hops import table_of, written

PAGE = "head\n<!-- hops: made by benchmarks/bench_hops.py -->\nold\n<!-- end of hops -->\ntail\n"
RATES = {"ring": {"0%": 512_300.0, "1%": 98_000.0}}


def test_a_row_has_both_losses_in_millions() -> None:
    assert table_of(RATES).splitlines()[2:] == ["|ring|0.51|0.10|"]


def test_the_table_takes_the_place_of_the_one_before() -> None:
    table = table_of(RATES)
    page = written(PAGE, table)
    assert "old" not in page
    assert page == PAGE.replace("old\n", table)
    assert written(page, table) == page


@pytest.mark.parametrize("page", ["", PAGE.replace("end of", "start of"), PAGE.replace("made by", "of")])
def test_a_page_without_its_place_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="the page lacks"):
        written(page, table_of(RATES))


def test_the_page_of_the_simulator_has_the_place() -> None:
    page = Path(__file__).parents[2] / "docs" / "simulation.md"
    assert "|ring|0.51|" in written(page.read_text(encoding="utf-8"), table_of(RATES))
