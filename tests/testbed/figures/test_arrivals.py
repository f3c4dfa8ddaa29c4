"""Bytes of messages are counted when they can have arrived: no rate is above that of its link."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.figures.arrivals import arrived, host_rates
from testbed.figures.extent import end_of_job
from testbed.figures.over_time import over_time
from testbed.history import Record, make_record
from testbed.plan import make_plan
from testbed.scenario import builtin_names, load_scenario
from testbed.worlds.simulated.world import simulate
from workloads.events import CollectiveCompleted, CollectiveStarted, Retransmission, WorkerFinished

RATE_BPS = 1e9
"""a bit in a nanosecond"""


def test_a_message_came_evenly_since_the_one_before_it() -> None:
    edges = (0, 10, 20, 30, 36)
    assert arrived([(20, 8.0), (36, 16.0)], [10], edges, None) == pytest.approx([0, 8, 10, 6])
    assert arrived([(20, 8.0), (36, 16.0)], [0], edges, None) == pytest.approx([4, 4, 10, 6])


def test_messages_that_were_complete_at_once_behind_a_gap_came_before() -> None:
    """246 Mbit/s on a link of 100 Mbit/s, before that was so."""
    edges = (0, 10, 20, 30)
    assert arrived([(25, 10.0), (25, 10.0)], [0], edges, RATE_BPS) == pytest.approx([4, 6, 10])
    assert arrived([(25, 10.0), (25, 10.0)], [0], edges, None) == pytest.approx([4, 4, 12])


@given(st.data())
def test_no_rate_is_above_its_link_and_nothing_is_lost(data: st.DataObject) -> None:
    """Of anything that a link can carry."""
    gaps = data.draw(st.lists(st.integers(0, 50), min_size=1, max_size=30))
    completed, now, backlog = [], 0, 0.0
    for gap in gaps:
        now += gap
        backlog += gap
        size = data.draw(st.floats(0, backlog))
        backlog -= size
        completed.append((now, size))
    step = data.draw(st.integers(1, 20))
    end = max(1, now)
    edges = (*range(0, end, step), end)
    bits = arrived(completed, [0], edges, RATE_BPS)
    assert sum(bits) == pytest.approx(sum(size for _, size in completed), abs=1e-6)
    for amount, left, right in zip(bits, edges, edges[1:], strict=False):
        assert amount <= (right - left) * (1 + 1e-9) + 1e-9


def small(name: str) -> tuple[object, list[Record]] | None:
    """A built-in in virtual time, with little to send; None where it runs in another world only."""
    scenario = load_scenario(name)
    if "simulated" not in scenario.worlds or scenario.nics:
        return None
    return scenario, simulate(make_plan(scenario))


LITTLE = [name for name in builtin_names() if load_scenario(name).job.size_bytes <= 400_000]


@pytest.mark.parametrize("name", [pytest.param(each, marks=pytest.mark.minutes) for each in LITTLE])
def test_no_built_in_shows_a_rate_above_its_link(name: str) -> None:
    found = small(name)
    if found is None:
        pytest.skip("it has background TCP, which runs in the emulated world only")
    scenario, history = found
    rates = host_rates(scenario)  # type: ignore[arg-type]
    times = over_time(history, hello=scenario.job.hello, rates_bps=rates)  # type: ignore[attr-defined]
    assert times is not None
    for node, line in times.of("gradient received").items():
        assert max(line) <= rates[node] * (1 + 1e-9), node


@pytest.mark.parametrize("name", ["rack-lossy", "incast-trimmed", "psn-wrap"])
def test_a_lossy_built_in_shows_no_rate_above_its_link(name: str) -> None:
    scenario = load_scenario(name, ["job.size=100kB"])
    history = simulate(make_plan(scenario))
    rates = host_rates(scenario)
    times = over_time(history, hello=scenario.job.hello, rates_bps=rates)
    assert times is not None
    for node, line in times.of("gradient received").items():
        assert max(line) <= rates[node] * (1 + 1e-9), node
    assert times.end_ns == max(r.event.completed_ns for r in history if isinstance(r.event, CollectiveCompleted))


def record(t: int, event: object, node: str = "h1") -> Record:
    return make_record(t, node, event)  # type: ignore[arg-type]


def test_axes_end_with_the_job_where_it_ended() -> None:
    started, finished = record(0, CollectiveStarted(0, 4, 1)), record(60, WorkerFinished(1))
    completed = record(60, CollectiveCompleted(0, "", 4, 50))
    later = record(100_000_050, Retransmission(1, "timeout", 1, 1))
    assert end_of_job([started, completed, finished, later]) == 50
    assert end_of_job([started, completed, later]) == 100_000_050, "it did not finish"
    other = record(0, CollectiveStarted(0, 4, 1), "h2")
    assert end_of_job([started, other, completed, finished, later]) == 100_000_050, "another one did not finish"
    assert end_of_job([]) == 0
