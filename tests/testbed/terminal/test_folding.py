from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from testbed.terminal.folding import fold_laid_out, joined, paragraphs

TEXTS = st.lists(st.text("abc,.-", min_size=1, max_size=30), min_size=1, max_size=20).map(" ".join)


@given(TEXTS, st.integers(40, 120), st.integers(0, 6))
def test_no_word_is_cut_and_no_line_is_too_long(text: str, width: int, indent: int) -> None:
    rows = fold_laid_out(" " * indent + text, width)
    assert " ".join(rows).split() == text.split()
    assert all(len(row) <= width for row in rows)


def test_a_line_with_columns_goes_on_under_the_last_one() -> None:
    line = "  ./tb list scenarios          what is built in, all of it, with a sentence for each of them"
    assert fold_laid_out(line, 60) == [
        "  ./tb list scenarios          what is built in, all of it,",
        "                               with a sentence for each of",
        "                               them",
    ]


def test_a_line_without_columns_goes_on_two_to_the_right() -> None:
    assert fold_laid_out("  " + "word " * 9, 30) == ["  " + "word " * 4 + "word", "    word word word word"]


def test_lines_that_an_author_broke_are_joined_and_paragraphs_are_kept() -> None:
    assert joined("one\ntwo\n\nexamples:\n  as it\n  stands\nthree\nfour\n") == [
        "one two", "", "examples:", "  as it", "  stands", "three four",
    ]  # fmt: skip
    assert list(paragraphs("one two\nthree", 9)) == ["one two", "three"], "no hanging indent"
    assert list(paragraphs("one\ntwo", 100)) == ["one two"]


def test_a_command_to_be_copied_stays_one_line() -> None:
    line = "  replay: tb run /a/long/path/to/a/scenario.yaml --set switch.program=/another/long/path.py:MyProgram"
    assert fold_laid_out(line, 60) == [line]


def test_a_number_stays_on_one_line_with_its_unit() -> None:
    text = "time 169 ms at least, 12.5 Mbit/s per link, 1,000 bytes each and 5 % of all"
    for width in range(40, 80):
        rows = fold_laid_out(text, width)
        for quantity in ("169 ms", "12.5 Mbit/s", "1,000 bytes", "5 %"):
            assert any(quantity in row for row in rows), (width, quantity)
        assert " ".join(rows).split() == text.split()
