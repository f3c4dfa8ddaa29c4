"""Histories that are damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.runs.kepthistory import load_history
from workloads.errors import ScenarioError

GOOD = b'{"t":0,"node":"h1","event":"X"}\n'


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "{0}: not a run directory; found no history.jsonl in it; allowed: as runs/latest"),
        (b"", "{0}/history.jsonl: the history is empty"),
        (b'{"t":0,', "{0}/history.jsonl: the history is cut in its first line"),
        (GOOD + b"garbage\n", "{0}/history.jsonl:2: cannot be read; found Expecting value: line 1 column 1 (char 0)"),
        (GOOD + b"\n" + GOOD, "{0}/history.jsonl:2: cannot be read; found Expecting value: line 2 column 1 (char 1)"),
        (GOOD * 2 + b"\xff\xfe\n", ("{0}/history.jsonl:3: cannot be read; found 'utf-8' codec can't decode byte 0xff "
                                    "in "
                                   "position 0: invalid start byte")),
        (GOOD + b"[1,2]\n", "{0}/history.jsonl:2: no record of a history; found no t, node and event"),
        (GOOD + GOOD.replace(b"0", b'"0"'), ("{0}/history.jsonl:2: no record of a history; found t: '0', not a whole "
                                            "number")),
    ],
)  # fmt: skip
def test_what_cannot_be_a_history(content: bytes | None, text: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "history.jsonl").write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        load_history(tmp_path)
    assert str(caught.value) == text.format(tmp_path)


def test_lines_deeper_than_python_reads(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(GOOD + b"[" * 200_000 + b"\n")
    with pytest.raises(ScenarioError, match=r"history\.jsonl:2: cannot be read"):
        load_history(tmp_path)


def test_a_history_that_ends_in_the_middle_of_a_line_says_so(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(GOOD * 3 + GOOD[:9])
    history = load_history(tmp_path)
    assert (len(history.records), history.cut) == (3, "the history is cut after line 3")
    (tmp_path / "history.jsonl").write_bytes(GOOD * 3)
    assert (len(load_history(tmp_path).records), load_history(tmp_path).cut) == (3, "")
