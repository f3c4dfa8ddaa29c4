from __future__ import annotations

from testbed.terminal.words import amount, first_sentence, times, violations


def test_amounts() -> None:
    assert [amount(n, "seed") for n in (0, 1, 2, 1383)] == ["0 seeds", "1 seed", "2 seeds", "1,383 seeds"]
    assert amount(2, "process", "processes") == "2 processes"
    assert times(1383) == "1,383x"
    assert violations(["a"]) == "1 violation; first: a"
    assert violations(["a", "b"]) == "2 violations; first: a"


def test_the_first_sentence_of_a_text_in_lines() -> None:
    assert first_sentence("Rank 2 starts 1.5 s late, longer\nthan the others. Then more.\n") == (
        "Rank 2 starts 1.5 s late, longer than the others."
    )
    assert first_sentence("no end") == "no end"
