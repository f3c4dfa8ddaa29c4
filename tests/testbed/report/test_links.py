"""Utilisation and queues of links, by rack in large topologies."""

from __future__ import annotations

import re

import pytest

from testbed.figures.over_time import OverTime, over_time_of
from testbed.history import Record, make_record
from testbed.history.events import QueuesSampled, ShapingMeasured
from testbed.report.links import links_data, links_html
from testbed.report.racks import by_rack, racks_of
from testbed.scenario import load_scenario
from testbed.scenario.model import Scenario
from tests.support.pages import rows_of_links

END_NS = 1_000_000
LARGE = {"topology": "{kind: spine_leaf, leaves: 3, spines: 2, hosts_per_leaf: 12}", "faults": "[]"}


def scenario_of(name: str = "rack", **changes: str) -> Scenario:
    return load_scenario(
        name, [f"{key.replace('__', '.')}={value}" for key, value in changes.items()], world="simulated"
    )


def history_of(scenario: Scenario) -> list[Record]:
    """The n-th direction carried n parts of 100 of its rate in a millisecond, and n frames waited there."""
    links = [(link.name, direction) for link in scenario.topology.links for direction in ("up", "down")]
    waiting = {f"{name} {direction}": n for n, (name, direction) in enumerate(links, 1) if direction == "down"}
    records = [make_record(END_NS // 2, "world", QueuesSampled(1_000, waiting, {"h1": 40_000}))]
    for n, (name, direction) in enumerate(links, 1):
        rate = 80_000_000
        event = ShapingMeasured(name, direction, rate, n * rate // 8 // 100_000, END_NS, 0)
        records.append(make_record(END_NS, "world", event))
    return records


def test_the_busiest_link_is_the_first() -> None:
    scenario = scenario_of()
    history = history_of(scenario)
    page = links_html(scenario, history, over_time_of(history, scenario), END_NS / 1e9, {})
    rows = rows_of_links(page)
    assert [row["utilisation"] for row in rows] == [f"{n}.0%" for n in range(8, 0, -1)]
    assert [(row["link and direction"], row["most frames waiting"]) for row in rows[:2]] == [
        ("h4-s1 down", "8"),
        ("h4-s1 up", "not sampled"),
    ]
    assert "h4-s1 down was busiest: 8.0% of 80.0 Mbit/s. The longest queue was that of h4-s1 down: 8 frames." in page
    assert re.findall(r'value="([^"]*)" checked>', page) == ["h4-s1 down"]


@pytest.mark.parametrize("duration_s", [None, 0.0])
def test_an_utilisation_is_unknown_without_the_time_of_the_job(duration_s: float | None) -> None:
    scenario = scenario_of()
    page = links_html(scenario, history_of(scenario), None, duration_s, {})
    assert {row["utilisation"] for row in rows_of_links(page)} == {"unknown"}
    assert {row["most frames waiting"] for row in rows_of_links(page)} == {"not sampled"}
    assert "How busy the links were is not known." in page
    assert "radio" not in page


def test_the_chart_of_a_link_has_its_queue_and_what_its_host_received() -> None:
    scenario = scenario_of()
    found = over_time_of(history_of(scenario), scenario)
    data = links_data(scenario, found)
    assert set(data) == {f"h{n}-s1 down" for n in range(1, 5)}
    assert set(data["h1-s1 down"]) == {"waiting", "received"}
    assert set(data["h2-s1 down"]) == {"waiting"}
    lengths = {len(line["coarse"]) for line in data["h1-s1 down"].values()}
    assert len(lengths) == 1, "points at the same times"
    assert max(data["h2-s1 down"]["waiting"]["coarse"]) == 4
    assert links_data(scenario, None) == {}


def test_hosts_of_a_large_topology_are_in_racks_that_open() -> None:
    scenario = scenario_of(**LARGE)
    racks = racks_of(scenario)
    assert {rack: len(hosts) for rack, hosts in by_rack(racks, racks).items()} == {f"leaf{n}": 12 for n in (1, 2, 3)}
    history = history_of(scenario)
    page = links_html(scenario, history, over_time_of(history, scenario), END_NS / 1e9, racks)
    heads = re.findall(r"<summary>([^<]*?)\. ", page)
    assert heads == ["Between switches, 12 directions", *(f"Rack of leaf{n}, 24 directions" for n in (3, 2, 1))]
    assert len(rows_of_links(page)) == 84
    first = links_data(scenario, over_time_of(history, scenario))
    assert all("fine" in line for lines in first.values() for line in lines.values())


@pytest.mark.parametrize(("hosts", "racks"), [(32, 0), (33, 33)])
def test_a_small_topology_is_not_folded(hosts: int, racks: int) -> None:
    assert len(racks_of(scenario_of(topology__hosts=str(hosts)))) == racks
    assert racks_of(None) == {}


def test_more_links_have_the_coarser_level_alone() -> None:
    scenario = scenario_of(**LARGE | {"topology": "{kind: spine_leaf, leaves: 3, spines: 2, hosts_per_leaf: 22}"})
    data = links_data(scenario, over_time_of(history_of(scenario), scenario))
    assert len(data) == 66 + 6
    assert not [line for lines in data.values() for line in lines.values() if "fine" in line]


def test_a_run_that_did_not_end_measured_nothing() -> None:
    page = links_html(scenario_of(), [], OverTime(1, 1, 1, ()), None, {})
    assert "What each link carried was not measured" in page
