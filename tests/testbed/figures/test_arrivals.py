"""Bytes of messages are counted when they can have arrived: no rate is above that of its link."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.faults.model import RateChange
from testbed.figures.arrivals import arrived
from testbed.figures.extent import end_of_job
from testbed.figures.over_time import OverTime, over_time
from testbed.history import Record, make_record
from testbed.plan import make_plan
from testbed.scenario import Scenario, builtin_names, load_scenario
from testbed.worlds.sampling import sample_interval_ns
from testbed.worlds.simulated.world import Simulation
from workloads.events import CollectiveCompleted, CollectiveStarted, Retransmission, WorkerFinished


def host_rates(scenario: Scenario) -> dict[str, float]:
    """Bits per second that come to a host at most, over all its links; a fault may make a link faster for a while."""
    rates: dict[str, float] = {}
    for link in scenario.topology.links:
        faster = [f.rate_bps for f in scenario.faults if isinstance(f, RateChange) and link.name in f.links]
        for end in (link.a, link.b):
            rates[end] = rates.get(end, 0.0) + max([link.shape.rate_bps, *faster])
    return rates


def test_what_came_between_two_looks_came_evenly() -> None:
    assert arrived([(20, 40), (30, 40), (36, 70)], (0, 10, 20, 30, 36)) == pytest.approx([20, 20, 0, 30])
    assert arrived([(8, 16), (40, 80)], (0, 10, 20)) == pytest.approx([20, 20])
    assert arrived([(5, 0), (6, 3), (7, 4), (12, 4)], (0, 10, 12)) == pytest.approx([4, 0])
    assert arrived([], (0, 10, 20)) == [0, 0]


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 1000)), max_size=20), st.integers(1, 30))
def test_nothing_is_lost_before_the_end(steps: list[tuple[int, int]], step: int) -> None:
    looks = list(accumulate(steps, lambda a, b: (a[0] + b[0], a[1] + b[1])))
    end = looks[-1][0] if looks else 7
    found = arrived(looks, (*range(0, end, step), end))
    assert sum(found) == pytest.approx(sum(bits for _, bits in steps))


def history_of(scenario: Scenario) -> list[Record]:
    plan, records = make_plan(scenario), list[Record]()
    Simulation(plan, records.append, sample_ns=sample_interval_ns(plan)).run()
    return records


def check(scenario: Scenario, history: list[Record]) -> OverTime:
    """No host gets more than its links carry; a bit or two by rounding."""
    rates, times = host_rates(scenario), over_time(history, hello=scenario.job.hello)
    assert times is not None
    received = times.of("received over links")
    assert received
    for host, line in received.items():
        # Ends of frames are whole ns, in which a fast link carries more than a bit.
        assert max(line) <= rates[host] + 4 * max(1e9, rates[host]) / times.interval_ns, host
    return times


def small(name: str) -> tuple[Scenario, list[Record]] | None:
    """A built-in in virtual time, with little to send; None where it runs in another world only."""
    scenario = load_scenario(name)
    if "simulated" not in scenario.worlds or scenario.nics:
        return None
    return scenario, history_of(scenario)


LITTLE = [name for name in builtin_names() if load_scenario(name).job.size_bytes <= 400_000]


@pytest.mark.parametrize("name", [pytest.param(each, marks=pytest.mark.minutes) for each in LITTLE])
def test_no_built_in_shows_a_rate_above_its_link(name: str) -> None:
    found = small(name)
    if found is None:
        pytest.skip("it has background TCP, which runs in the emulated world only")
    scenario, history = found
    check(scenario, history)


@pytest.mark.parametrize("name", ["rack-lossy", "incast-trimmed", "psn-wrap"])
def test_a_lossy_built_in_shows_no_rate_above_its_link(name: str) -> None:
    scenario = load_scenario(name, ["job.size=100kB"])
    history = history_of(scenario)
    times = check(scenario, history)
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
