"""The table of sizes in docs/states.md has a line for each row, and a search gives the numbers of its line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.state_sizes import BEGIN, END, PAGE, ROWS, Row, line, measure, measured, table_of, with_line


def test_the_page_has_the_rows_in_their_order() -> None:
    lines = table_of(PAGE.read_text(encoding="utf-8"))
    assert [each[: len(line(row.words)) - 1] for each, row in zip(lines, ROWS, strict=True)] == [
        line(row.words).rstrip("\n") for row in ROWS
    ]


def test_a_line_is_replaced_or_put_in_its_place() -> None:
    first, second = ROWS[:2]
    page = f"before\n{BEGIN}protocol\n{END}after\n"
    page = with_line(page, line((*second.words, "5")), second.words)
    page = with_line(page, line((*first.words, "6")), first.words)
    page = with_line(page, line((*second.words, "7")), second.words)
    assert [each.split()[-1] for each in table_of(page)] == ["6", "7"]
    assert page.startswith("before\n")
    assert page.endswith(f"{END}after\n")


def test_a_search_that_ends_gives_a_line_and_another_one_none() -> None:
    row = Row("SwitchML", "switchml", 2, 1, 1, 1)
    document = measure(row, 1)
    words = measured(row, document).split()
    assert words[:6] == ["SwitchML", "2", "1", "1", "1", f"{document['states']:,}"]
    assert document["cpu_s"] > 0
    with pytest.raises(SystemExit, match="unknown after"):
        measured(row, {**document, "verdict": "unknown"})


@pytest.mark.minutes
def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    """Of the row that ends soonest."""
    row = next(each for each in ROWS if each.protocol == "switchml" and each.workers == 3)
    found = measured(row, measure(replace(row), 30)).split()
    (known,) = [
        each.split() for each in table_of(PAGE.read_text(encoding="utf-8")) if each.startswith(line(row.words)[:-1])
    ]
    assert found[:-2] == known[:-2], "all but time and memory"
