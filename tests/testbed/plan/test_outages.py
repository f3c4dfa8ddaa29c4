"""What is gone when, by the faults of a scenario."""

from __future__ import annotations

from dataclasses import replace

from testbed.faults.model import Fault, Kill, LinkDown, Match, Window
from testbed.plan.outages import Outage, outages, remaining
from testbed.scenario.model import Scenario
from topologies import LinkShape, grid_triangle

TOPOLOGY = grid_triangle(LinkShape())
S2_LINKS = frozenset({"w5-s2", "w6-s2", "s1-s2", "s2-s3"})


def found(*faults: Fault) -> tuple[Outage, ...]:
    return outages(Scenario(name="x", topology=TOPOLOGY, link=LinkShape(), faults=faults))


def test_a_link_goes_and_comes_back() -> None:
    cut = LinkDown("cut", ("s1-s3",), window=Window(100, 300))
    assert found(cut) == (
        Outage(100, frozenset({"s1-s3"}), frozenset()),
        Outage(300, frozenset(), frozenset()),
    )


def test_a_flapping_link_does_so_each_time() -> None:
    flap = LinkDown("flap", ("s1-s3",), window=Window(100, 300), count=2, period_ns=1_000)
    assert [(outage.at_ns, len(outage.links)) for outage in found(flap)] == [(100, 1), (300, 0), (1_100, 1), (1_300, 0)]


def test_a_dead_switch_takes_its_links_along_a_dead_host_does_not_matter() -> None:
    assert found(Kill("dead", "s2", Window(50, None)), Kill("host", "w1", Window(60, None))) == (
        Outage(50, S2_LINKS, frozenset({"s2"})),
    )


def test_overlapping_faults_are_one_outage() -> None:
    both = LinkDown("a", ("s1-s3",), window=Window(100, 300)), LinkDown("b", ("s1-s3",), window=Window(200, 400))
    assert [outage.at_ns for outage in found(*both)] == [100, 400]


def test_a_link_that_loses_some_is_not_down() -> None:
    cut = LinkDown("cut", ("s1-s3",), window=Window(100, 300))
    assert found(replace(cut, rate=0.5), replace(cut, match=Match(frozenset({1})))) == ()


def test_what_remains_keeps_its_ports() -> None:
    (outage,) = found(Kill("dead", "s2", Window(50, None)))
    left = remaining(TOPOLOGY, outage)
    assert {link.name for link in TOPOLOGY.links} - {link.name for link in left.links} == S2_LINKS
    assert {node.name for node in TOPOLOGY.nodes} - {node.name for node in left.nodes} == {"s2"}
    assert left.link("s1-s3") == TOPOLOGY.link("s1-s3")
