"""How long a job took to get over a change of its routes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from testbed.checkers.context import CheckContext
from testbed.figures.recovery import routing_metrics
from testbed.history import Record
from testbed.history.events import TrafficStarted
from testbed.plan.model import Unroutable
from tests.support.records import a_record
from workloads.datagrams.blocks import BlockSummed
from workloads.machine import Event

MS = 1_000_000
FRAME_BITS = 8_000


def context(sums_ns: list[int], *, because: int | None = 100 * MS) -> CheckContext:
    """A new plan at 150 ms with 8 Mbit/s: a block each millisecond. The traffic starts at 1 s."""
    planned = SimpleNamespace(planner="grid", min_rate_bps=8e6)
    routing = [SimpleNamespace(from_ns=0, plan=planned, because_ns=None)]
    if because is not None:
        routing.append(SimpleNamespace(from_ns=150 * MS, plan=planned, because_ns=because))
    history: dict[type[Event], list[Record]] = {TrafficStarted: [a_record(1000 * MS, "world", "TrafficStarted")]}
    history[BlockSummed] = [a_record(1000 * MS + time, "ps", "BlockSummed") for time in sums_ns]
    history[BlockSummed].append(a_record(1, "s1", "BlockSummed"))
    worker = SimpleNamespace(framing=SimpleNamespace(frame_bytes=FRAME_BITS // 8))
    plan = SimpleNamespace(
        routing=tuple(routing), servers=(SimpleNamespace(name="ps"),), workers=(worker,), unroutable=()
    )
    return cast(CheckContext, SimpleNamespace(plan=plan, events=lambda kind: history.get(kind, [])))


def only_change(sums_ns: list[int]) -> dict[str, Any]:
    found = routing_metrics(context(sums_ns))
    assert found is not None
    (change,) = found["replans"]
    return cast(dict[str, Any], change)


def test_it_has_recovered_when_sums_come_at_the_new_rate() -> None:
    slow = [time * MS for time in range(100)] + [time * MS for time in range(160, 260, 5)]
    change = only_change(slow + [time * MS for time in range(260, 500)])
    assert change["first_sum_s"] == pytest.approx(0.060)
    assert 0.150 <= change["recovered_s"] <= 0.160
    assert change["measured_bps"] == pytest.approx(8e6, rel=0.02)
    assert (change["at_s"], change["installed_s"], change["planned_bps"]) == (0.1, 0.15, 8e6)


def test_a_job_that_does_not_get_there_has_not_recovered() -> None:
    change = only_change([time * MS for time in range(160, 500, 5)])
    assert (change["recovered_s"], change["measured_bps"]) == (None, None)
    assert only_change([])["first_sum_s"] is None


def test_changes_without_a_plan_are_told() -> None:
    there = context([])
    there.plan.unroutable = (Unroutable(100 * MS, "no way to the server"),)  # type: ignore[misc]
    found = routing_metrics(there)
    assert found is not None
    assert found["unroutable"] == [{"at_s": 0.1, "reason": "no way to the server"}]


def test_without_a_change_there_is_nothing_to_get_over() -> None:
    found = routing_metrics(context([], because=None))
    assert found == {"planner": "grid", "planned_bps": 8e6, "replans": [], "unroutable": []}
