from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.terminal.numbers import quantity
from testbed.terminal.tables import table_lines

HEAD = ("M", "name", "average time", "note")
ROWS = [("8", "first", "837.1 ms", "what is to be said of it"), ("960", "second", "1.0 ms", "nothing")]


def test_a_table_that_fits() -> None:
    assert list(table_lines(HEAD, ROWS, 100, text=(1, 3))) == [
        "    M  name    average time  note",
        "    8  first       837.1 ms  what is to be said of it",
        "  960  second        1.0 ms  nothing",
    ]


def test_words_are_folded_and_numbers_are_not() -> None:
    assert list(table_lines(HEAD, ROWS, 40, text=(1, 3))) == [
        "                   average",
        "    M  name           time  note",
        "    8  first      837.1 ms  what is to",
        "                            be said of",
        "                            it",
        "  960  second       1.0 ms  nothing",
    ]


def test_what_does_not_fit_at_all_comes_in_parts_with_the_first_columns_again() -> None:
    lines = list(table_lines(HEAD, ROWS, 24, text=(1, 3)))
    assert [line.split()[0] for line in lines if line].count("M") > 1
    assert max(map(len, lines)) <= 24
    assert {word for line in lines for word in line.split()} == {
        word for row in (HEAD, *ROWS) for cell in row for word in cell.split()
    }


def test_groups_are_set_apart() -> None:
    rows = [("1", "a"), ("1", "b"), ("2", "c")]
    assert list(table_lines(("M", "name"), rows, 80, text=(1,), group=True)) == [
        "  M  name", "  1  a", "  1  b", "", "  2  c",
    ]  # fmt: skip


WORDS = st.text("abcdef", min_size=1, max_size=12)
CELLS = st.lists(WORDS, max_size=6).map(" ".join)


@given(st.lists(st.tuples(WORDS, CELLS, WORDS, CELLS), min_size=1, max_size=5), st.integers(40, 200))
def test_nothing_is_cut_or_lost_at_any_width(rows: list[tuple[str, ...]], width: int) -> None:
    lines = list(table_lines(HEAD, rows, width, text=(1, 3)))
    assert all(len(line) <= width for line in lines)
    words = [word for line in lines for word in line.split()]
    assert set(words) == {word for row in (HEAD, *rows) for cell in row for word in cell.split()}


NUMBERS = st.one_of(
    st.integers(0, 10**15).map(lambda n: f"{n:,}"),
    st.floats(1e-9, 1e12).map(lambda x: quantity(x, "bit/s")),
    st.floats(1e-9, 1e6).map(lambda x: f"{quantity(x, 's')} ({x:.3g})"),
)
NAMES = st.text("abcdef", min_size=1, max_size=30)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_no_number_is_cut_and_no_line_too_long_at_80_columns(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 14))
    keys = data.draw(st.integers(1, min(4, count - 1)))
    head = [f"c{number}" for number in range(count)]
    row = st.tuples(NAMES, *[NUMBERS] * (count - 1))
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    lines = list(table_lines(head, rows, 80, keys=keys, text=(0,)))
    assert max(map(len, lines)) <= 80
    for cells in rows:
        for cell in cells:
            assert any(cell in line for line in lines), cell


def test_a_table_whose_keys_are_too_wide_comes_row_by_row() -> None:
    rows = [("a" * 30, "b" * 30, "123,456,789,012"), ("c", "d", "5")]
    assert list(table_lines(("where", "which", "bytes"), rows, 60, text=(0, 1), keys=2)) == [
        f"  where: {'a' * 30}", f"  which: {'b' * 30}", "  bytes: 123,456,789,012", "",
        "  where: c", "  which: d", "  bytes: 5",
    ]  # fmt: skip
