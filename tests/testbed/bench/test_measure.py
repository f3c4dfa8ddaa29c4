from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.bench import measure as module
from testbed.bench.measure import allreduce_scenario, measure
from testbed.history import Record
from testbed.runs.run import RunResult
from tests.support.records import a_record
from workloads.errors import InternalError


def plane(node: str, cpu_ns: int, rss: int) -> Record:
    return a_record(0, node, "PlaneStatistics", cpu_ns=cpu_ns, wall_ns=100, peak_rss_bytes=rss)


def run_of(verdict: str, metrics: dict[str, Any]) -> Any:
    def fake(scenario: Any, out: Path) -> RunResult:
        document = {
            "checks": [{"name": "bit_exact", "verdict": verdict, "detail": "h1 differs"}],
            "fidelity": {"verdict": "pass", "reasons": []},
            "metrics": metrics,
            "faults": [{"strikes": 2}, {"strikes": 3}],
        }
        return RunResult(document, [plane("h1", 30, 7), plane("s1", 80, 900)], out)

    return fake


FIGURES = {"jct_s": 2.0, "goodput_bps": 90.0, "bound_bps": 100.0}


def test_a_measurement_takes_the_figures_the_busiest_node_and_the_largest_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "run_scenario", run_of("pass", FIGURES))
    found = measure(allreduce_scenario("ring", 2, 100_000_000, 1024, 1000, 1))
    assert (found.jct_s, found.goodput_bps, found.busiest) == (2.0, 90.0, "s1 80% of a core")
    assert found.worker_peak_bytes == 7


def test_figures_that_the_run_does_not_trust_are_shown_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run_scenario", run_of("pass", {"jct_s": None, "unreliable": FIGURES}))
    assert measure(allreduce_scenario("ring", 2, 100_000_000, 1024, 1000, 1)).jct_s == 2.0


def test_a_fast_wrong_answer_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run_scenario", run_of("fail", FIGURES))
    with pytest.raises(InternalError, match="bit_exact failed: h1 differs"):
        measure(allreduce_scenario("ring", 2, 100_000_000, 1024, 1000, 1))


def test_the_window_covers_the_wait_for_a_result() -> None:
    # 170 packets of 1082 bytes take 14.7 ms at 100 Mbps: (N-1) of them must cover 40 ms.
    assert allreduce_scenario("netreduce", 4, 100_000_000, 1024, 1000, 1).job.window_messages == 4
    assert allreduce_scenario("netreduce", 4, 1_000_000_000, 1024, 1000, 1).job.window_messages == 29
