"""Rows of `tb perf` made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.perf.request import PerfRequest, resolved
from testbed.perf.rows import BandwidthRow, MeasuredBandwidth, Times

FIGURES = {
    "algbw_bps": 8e9,
    "wire.sent_per_rank_bytes": 4200.0,
    "wire.received_per_rank_bytes": 4000.0,
    "busiest_link.bytes": 4400,
    "busiest_link.utilisation": 0.123,
}


@pytest.fixture
def measured() -> MeasuredBandwidth:
    return MeasuredBandwidth("pass", "", True, Times((1e-6, 3e-6)), 4, "h1-s1 up", FIGURES)


@pytest.fixture
def rows(measured: MeasuredBandwidth) -> list[BandwidthRow]:
    wrong = replace(measured, verdict="fail", reason="bit_exact: 1 of 8 results differ", is_exact=False)
    slow = replace(measured, times=Times((0.123456, 0.123456)))
    none = MeasuredBandwidth("", "ring has no in-place form", None, None, 0, "", {})
    return [BandwidthRow("ring", 4000, 4, measured, wrong), BandwidthRow("ring", 8000, 4, slow, none)]


@pytest.fixture
def asked():
    return resolved(PerfRequest("rack", (4000, 8000), factor=2, protocols=("ring",), world="simulated", iterations=2))
