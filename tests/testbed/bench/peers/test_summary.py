"""Figures, rows and the table, of made-up samples."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.bench.peers.summary import figures_of, rows_of, table
from tests.support.peer_samples import CASES, samples

pytestmark = pytest.mark.protocols("ring")

_TABLE = """\
all-reduce of 16.0 MB of float32 at 100 Mbit/s, multiples of M/B = 1.28 s: median of 3 (spread)
                 N=4, 0% loss  N=4, 1% loss  N=8, 0% loss  N=8, 1% loss
  openmpi          2.00 (20%)    2.00 (20%)    2.00 (20%)    2.00 (20%)
  ring             3.00 (20%)    3.00 (20%)    3.00 (20%)    3.00 (20%)
  ring-irn         4.00 (20%)    4.00 (20%)    4.00 (20%)    4.00 (20%)
  netreduce        5.00 (20%)    5.00 (20%)    5.00 (20%)    5.00*(20%)
  netreduce-irn    6.00 (20%)    6.00 (20%)    6.00 (20%)    6.00 (20%)

(spread): largest less smallest, of the median. *: of ours, fidelity unknown in some run.
gloo was left out: torch is missing"""


def test_the_table_fits_a_terminal_and_says_who_is_missing_and_what_is_not_trusted() -> None:
    found = [
        replace(sample, fidelity="unknown")
        if (sample.subject, sample.case, sample.repeat) == ("netreduce", CASES[3], 2)
        else sample
        for sample in samples("gloo")
    ]
    lines = list(table(figures_of(found), {"gloo": "torch"}, 80))
    assert "\n".join(lines) == _TABLE
    assert all(len(line) <= 80 for line in lines[1:-3])


def test_a_case_that_was_not_measured_is_a_dash() -> None:
    figures = figures_of(sample for sample in samples() if (sample.subject, sample.case) != ("ring", CASES[0]))
    [line] = [line for line in table(figures, {}, 80) if line.startswith("  ring ")]
    assert line.split()[1] == "-"


def test_rows_say_for_whom_they_hold() -> None:
    rows = {row.what: row for row in rows_of(figures_of(samples()))}
    assert len(rows) == 6 * 4
    row = rows["netreduce, N=4, 16 MB, 1% loss"]
    assert row.median == pytest.approx(5 * 1.28)
    assert row.ratio == pytest.approx(5.0)
    assert row.spread == pytest.approx(0.2)
    assert (row.repeats, row.unit, row.dilation, row.deviation, row.fidelity) == (3, "s", 4, -0.03, "pass")
    assert row.note == "10 to 30 frames lost"
    peer = rows["gloo, N=8, 16 MB, 0% loss"]
    assert (peer.dilation, peer.deviation, peer.note) == (1, None, "kernel TCP: no reference run")
    assert all(row.met for row in rows.values())
