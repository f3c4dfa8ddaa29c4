"""Bandwidths and loads of links, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.checkers.context import CheckContext
from testbed.figures.bandwidth import bandwidths, link_metrics
from testbed.figures.metrics import metrics
from testbed.history import Record, sort_history
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.scenario.keys.background import BackgroundFlow
from testbed.scenario.model import Job, Scenario, SwitchOptions
from testbed.worlds.simulated import simulate
from tests.support.records import a_record
from topologies import LinkShape, rack

SHAPE = LinkShape(rate_bps=100_000_000)


def _context(*records: Record[Any], hosts: int = 4, protocol: str = "netreduce") -> CheckContext:
    program = "netreduce" if protocol == "netreduce" else "forward"
    scenario = Scenario(
        "t", rack(hosts, SHAPE), SHAPE, switch=SwitchOptions(program), job=Job(protocol=protocol, size_bytes=4096)
    )
    return CheckContext(make_plan(scenario), records)


def _carried(link: str, direction: str, size: int, rate_bps: int = 100_000_000, at: int = 9_000_000) -> Record[Any]:
    return a_record(at, "world", "ShapingMeasured", link=link, direction=direction, bytes=size, rate_bps=rate_bps)


@pytest.mark.parametrize(("hosts", "factor"), [(2, 1.0), (3, 4 / 3), (4, 1.5), (8, 1.75)])
def test_busbw_is_algbw_times_two_n_minus_one_over_n(hosts: int, factor: float) -> None:
    for protocol in ("netreduce", "ring"):
        found = bandwidths(_context(hosts=hosts, protocol=protocol), 80e6)
        assert found["algbw_bps"] == 80e6
        assert found["busbw_bps"] == pytest.approx(80e6 * factor)


def test_what_is_no_all_reduce_and_what_did_not_end_have_none() -> None:
    none = {"algbw_bps": None, "busbw_bps": None}
    assert bandwidths(_context(protocol="shift"), 80e6) == none
    assert bandwidths(_context(), None) == none


def test_a_ring_reaches_the_rate_of_its_links_in_busbw() -> None:
    """Links of 100 Mbit/s, packets of 1024 of 1082 bytes; the rest is the time of the first steps."""
    plan = make_plan(load_scenario("rack", ["job.protocol=ring", "switch.program=forward", "job.size=4MB"]))
    context = CheckContext(plan, sort_history(simulate(plan)))
    values = metrics(context)
    assert 0.97 * values["bound_bps"] * 1.5 < values["busbw_bps"] < 100e6 * 1024 / 1082
    assert values["algbw_bps"] == values["goodput_bps"] == pytest.approx(values["busbw_bps"] * 4 / 6)


def test_bytes_per_rank_are_the_mean_over_workers() -> None:
    records = [
        *(_carried(f"h{number}-s1", "up", 1000 * number) for number in (1, 2, 3, 4)),
        *(_carried(f"h{number}-s1", "down", 100) for number in (1, 2, 3, 4)),
    ]
    found = link_metrics(_context(*records), 1e-3)["wire"]
    assert found == {"sent_per_rank_bytes": 2500, "received_per_rank_bytes": 100}


def test_hosts_that_are_no_workers_do_not_count() -> None:
    base = _context()
    plan = make_plan(replace(base.plan.scenario, job=replace(base.plan.scenario.job, hosts=("h1", "h2"))))
    records = [_carried("h1-s1", "up", 500), _carried("h2-s1", "up", 300), _carried("h3-s1", "up", 7000)]
    found = link_metrics(CheckContext(plan, records), 1e-3)
    assert found["wire"]["sent_per_rank_bytes"] == 400
    assert found["busiest_link"]["link"] == "h3-s1 up"


def test_the_busiest_link_carried_most_for_its_rate() -> None:
    """8 kbit in 1 ms at 10 Mbit/s are 80 %; 40 kbit at 100 Mbit/s are 40 %."""
    records = [_carried("h1-s1", "up", 5000), _carried("h2-s1", "down", 1000, 10_000_000), _carried("h3-s1", "up", 0)]
    found = link_metrics(_context(*records), 1e-3)["busiest_link"]
    assert found == {"link": "h2-s1 down", "bytes": 1000, "utilisation": pytest.approx(0.8)}


def test_frames_that_follow_the_job_use_no_more_than_all_of_a_link() -> None:
    """12,600 bytes of 12,500 that 1 ms has room for."""
    found = link_metrics(_context(_carried("h1-s1", "up", 12_600)), 1e-3)["busiest_link"]
    assert found["utilisation"] == 1


def test_with_other_tenants_the_time_is_that_of_the_whole_run() -> None:
    """They go on after the job: 5000 bytes from 1 ms to 9 ms."""
    base = _context()
    flow = BackgroundFlow("other", "udp", "h1", "h2", rate_bps=1_000_000)
    plan = make_plan(replace(base.plan.scenario, background=(flow,)))
    records = [a_record(1_000_000, "world", "TrafficStarted"), _carried("h1-s1", "up", 5000)]
    found = link_metrics(CheckContext(plan, records), 1e-3)["busiest_link"]
    assert found["utilisation"] == pytest.approx(40_000 / (100e6 * 8e-3))


def test_a_world_that_measures_no_links_has_none() -> None:
    found = link_metrics(_context(), 1e-3)
    assert {value for group in found.values() for value in group.values()} == {None}
    assert link_metrics(_context(_carried("h1-s1", "up", 1)), None)["busiest_link"]["utilisation"] is None
