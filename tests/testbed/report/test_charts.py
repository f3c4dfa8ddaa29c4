"""Lines, bands and levels of detail of charts."""

from __future__ import annotations

import pytest

from testbed.figures.over_time import OverTime, Series
from testbed.report.charts import charts_data, charts_html, fine_figures, lines_of, rounded, slowest_worker, wider
from tests.support.records import a_record


def series(hosts: int, kind: str = "count") -> Series:
    """Host n has n in interval 0, and 0 in interval 1."""
    return Series("sent", "packets", kind, tuple((f"h{n}", (float(n), 0.0)) for n in range(1, hosts + 1)))  # type: ignore[arg-type]


def test_up_to_four_nodes_have_a_line_each() -> None:
    assert [(line.name, line.role) for line in lines_of(series(4), "h2")] == [(f"h{n}", "line") for n in range(1, 5)]


@pytest.mark.parametrize(("slowest", "name", "value"), [("h2", "slowest: h2", 2), ("s1", "most: h11", 11)])
def test_above_four_there_are_a_band_a_median_and_one_that_stands_out(slowest: str, name: str, value: int) -> None:
    lines = lines_of(series(11), slowest)
    assert [(line.role, line.name, line.values[0]) for line in lines] == [
        ("low", "10th percentile", 2),
        ("high", "90th percentile", 10),
        ("median", "median of 11", 6),
        ("extreme", name, value),
    ]


def test_the_slowest_worker_completed_last() -> None:
    done = [("h1", 50), ("h2", 70), ("h1", 90), ("h3", 80)]
    history = [a_record(at, host, "CollectiveCompleted", completed_ns=at) for host, at in done]
    assert slowest_worker(history) == "h1"
    assert slowest_worker([]) == ""


@pytest.mark.parametrize(("kind", "coarse"), [("count", [10, 3]), ("rate", [2.5, 1.5]), ("state", [0, 7, 2, 1])])
def test_the_coarser_level_loses_neither_a_packet_nor_a_peak(kind: str, coarse: list[float]) -> None:
    assert wider((1, 0, 7, 2, 2, 1), kind, 4) == coarse  # type: ignore[arg-type]


def test_numbers_have_four_digits() -> None:
    assert rounded([0.0, 123456.7, 0.000123456, 3.0]) == [0, 123500, 0.0001235, 3]
    assert isinstance(rounded([3.0])[0], int)


@pytest.mark.parametrize(("end", "fine_ns"), [(5, 1), (1_000_000, 1_000), (10**11, 10**8)])
def test_the_finer_level_has_ten_times_as_many_intervals_however_long_the_run(end: int, fine_ns: int) -> None:
    found = fine_figures([a_record(end, "h1", "Retransmission", cause="nak", packets=1)], None)
    assert found is not None
    assert found.interval_ns == fine_ns
    assert found.intervals <= 1_500


def test_rates_that_are_not_trusted_are_left_out() -> None:
    found = OverTime(1, 2, 2, (series(2), series(2, "rate")))
    assert [len(list(charts_data(found, "", {}, rates=rates))) for rates in (True, False)] == [2, 1]
    assert [charts_html(found, "", rates=rates).count("<figure") for rates in (True, False)] == [2, 1]


def test_the_table_of_a_chart_has_ten_rows_at_most() -> None:
    values = tuple(float(at) for at in range(95))
    found = OverTime(1_000, 95, 95_000, (Series("slots in use", "slots", "state", (("s1", values),)),))
    table = charts_html(found, "", rates=True)
    assert table.count("<tr>") == 11
    assert "<caption>most of each interval, in slots</caption>" in table
    assert '<tr><th scope="row">10.0 us</th><td>19</td></tr>' in table
