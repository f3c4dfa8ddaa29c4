"""The text, read by a reader of nccl-tests' format."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.perf.table import _number, average_busbw, table_lines
from tests.support.nccl_text import Side, read_nccl


def lines(asked, rows, latency=False):
    return list(table_lines(*asked, "ring", rows, latency=latency))


def test_a_reader_of_nccl_tests_reads_it(asked, rows):
    (table,) = read_nccl("\n".join(lines(asked, rows)))
    assert table.program == "all_reduce_perf"
    first, second = table.lines
    assert (first.size, first.count, first.type, first.redop, first.root) == (4000, 1000, "float", "sum", -1)
    assert first.out_of_place == Side(2.0, 2.0, 3.0, 0)
    assert first.in_place == Side(2.0, 2.0, 3.0, None), "how many elements are wrong is not known"
    assert second.out_of_place == Side(123456.0, 0.0, 0.0, 0)
    assert second.in_place == Side(None, None, None, None)
    assert (table.wrong, table.okay) == (1, False)
    assert table.average == pytest.approx(average_busbw(rows) / 1e9, rel=1e-4)


def test_sums_and_roots_are_written_as_nccl_tests_does(asked, rows):
    request, scenario = asked
    for collective, redop, root, count in (("all_gather", "none", -1, 250), ("broadcast", "none", 2, 1000)):
        others = [replace(row, collective=collective) for row in rows]
        (table,) = read_nccl("\n".join(lines((replace(request, collective=collective, root=2), scenario), others)))
        assert (table.program, table.lines[0].count) == (f"{collective}_perf", count)
        assert (table.lines[0].redop, table.lines[0].root) == (redop, root)
    assert table.lines[0].out_of_place.busbw == 2.0, "of a broadcast it is the algbw"


def test_ranks_are_those_of_a_run_that_was_made(asked, rows):
    none = rows[1].in_place
    missing = [replace(row, ranks=0, out_of_place=none, in_place=none) for row in rows]
    assert any(line.startswith("# Protocol ring, 4 ranks, ") for line in lines(asked, [missing[0], rows[1]]))
    assert any(line.startswith("# Protocol ring, N/A ranks, ") for line in lines(asked, missing))


def test_columns_stand_under_their_names(asked, rows):
    text = lines(asked, rows)
    head = next(line for line in text if line.split()[1:2] == ["size"] and "#wrong" in line)
    row = next(line for line in text if line.startswith("        4000"))
    assert len(head) == len(row)
    assert [head.index(f" {name}") + len(name) for name in ("size", "count", "type", "redop", "root")] == [
        row.index(f" {word}") + len(word) for word in ("4000", "1000", "float", "sum", "-1")
    ]


def test_wire_bytes_are_those_of_one_iteration(asked, rows):
    text = lines(asked, rows)
    wire = next(line for line in text if line.startswith("#       4000"))
    assert wire.split()[2:7] == ["1050", "1000", "1100", "12.3", "h1-s1"]
    assert next(line for line in text if line.startswith("#       8000")).split()[8:] == ["N/A"] * 4


def test_reasons_stand_below(asked, rows):
    assert lines(asked, rows)[-2:] == [
        "# 4000 in place: fail: bit_exact: 1 of 8 results differ",
        "# 8000 in place: not run: ring has no in-place form",
    ]


def test_latency_has_percentiles(asked, rows):
    assert not [line for line in lines(asked, rows) if "p99" in line]
    text = lines(asked, rows, latency=True)
    place = next(index for index, line in enumerate(text) if "p99" in line)
    assert text[place + 1].split()[1:7] == ["4000", "1.00", "1.00", "3.00", "3.00", "3.00"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.123, "0.12"), (9999.994, "9999.99"), (12345.67, "12345.7"), (123456.7, "123457"), (1e9, "1000000000")],
)
def test_decimals_as_the_width_allows(value, text):
    assert _number(value, 7) == text
