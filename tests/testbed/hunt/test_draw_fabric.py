"""Drawn fabrics: what they span, that they load, and that racks are drawn as before."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from testbed.faults.model import Drop, Forge, Kill, Loss, Match, NodeFault, PacketFault, Window
from testbed.hunt.draw import draw_schedule
from testbed.hunt.draw_fabric import FABRIC, plain_fabric, smaller_fabrics
from testbed.hunt.draw_faults import _fits
from testbed.hunt.survival import disturbance_ns, may_fail, travel_ns, unsurvivable
from testbed.scenario import dump_scenario, parse_scenario
from testbed.scenario.model import Job, Scenario, Transport
from tests.support.drawn import Drawn
from topologies import DIRECTIONS, Direction, LinkShape, rack, spine_leaf
from topologies.racks import racks_of

MANY = Drawn(500, lambda number: draw_schedule(5, number, kind=FABRIC).scenario)
SHAPE = LinkShape(rate_bps=1_000_000_000, delay_ns=1000)
OLD = [480, 1364, 1876, 1092, 1552, 3552, 648, 7620, 720, 760, 1848, 1256]
UPLINK = LinkShape(rate_bps=250_000_000)


def test_racks_are_uneven_and_spines_one_to_three():
    counts = [
        [len(one.hosts) for one in racks_of(scenario.topology, scenario.topology.hosts).racks] for scenario in MANY
    ]
    assert {len(each) for each in counts} == {2, 3, 4}
    assert {count for each in counts for count in each} == {1, 2, 3}
    assert {sum(each) for each in counts} == set(range(2, 9))
    assert {len(racks_of(scenario.topology, scenario.topology.hosts).spines) for scenario in MANY} == {1, 2, 3}
    uneven = sum(len(set(each)) > 1 for each in counts)
    assert uneven > 150
    assert any(len({link.shape for link in scenario.topology.links}) > 1 for scenario in MANY)


def test_a_part_of_those_with_several_spines_sprays_over_ways_of_unequal_length():
    sprayed = [scenario for scenario in MANY if scenario.topology.multipath == "spray"]
    assert 80 < len(sprayed) < 300
    assert all(len(racks_of(each.topology, each.topology.hosts).spines) > 1 for each in sprayed)
    numbers = [number for number, scenario in enumerate(MANY[:40]) if scenario.topology.multipath == "spray"]
    assert numbers == [0, 10, 16, 17, 19, 28, 37, 39], "old seeds mean other schedules"
    delays = {
        max(uplinks) - min(uplinks)
        for each in sprayed
        for uplinks in [[link.shape.delay_ns for link in each.topology.links if link.b.startswith("spine")]]
    }
    assert {0, 100_000, 1_000_000, 5_000_000} <= delays
    assert {each.transport.recovery for each in sprayed} == {"gbn", "irn", "irn-rack"}


def test_a_smaller_fabric_sprays_still_and_at_last_does_not():
    topology = replace(spine_leaf([2, 1, 1], 2, SHAPE), multipath="spray")
    smaller = list(smaller_fabrics(topology, SHAPE))
    assert {each.multipath for each in smaller[:-1]} == {"spray"}
    assert smaller[-1] == replace(topology, multipath="flow")


def test_what_fabrics_refuse_is_not_drawn():
    assert {scenario.job.dtype for scenario in MANY} == {"float32", "int32"}
    assert {scenario.job.credit for scenario in MANY} == {"both", "received"}


def test_every_schedule_is_a_file_and_survivable_or_says_why_not():
    reasons = Counter(may_fail(scenario) for scenario in MANY)
    assert reasons[None] > 350
    for scenario in MANY:
        assert may_fail(scenario) or unsurvivable(scenario) is None
    for scenario in MANY[:150]:
        assert parse_scenario(dump_scenario(scenario), "drawn") == scenario


def test_faults_strike_links_of_both_tiers_both_ways_and_every_part():
    struck, stopped = set(), set()
    for scenario in MANY:
        parts = {node.name: node.part for node in scenario.topology.nodes}
        for fault in scenario.faults:
            if isinstance(fault, PacketFault):
                struck |= {
                    (parts[scenario.topology.link(link).a], way) for link in fault.links for way in fault.directions
                }
            elif isinstance(fault, NodeFault):
                stopped.add((type(fault), parts[fault.node]))
    assert struck == {(part, way) for part in ("", "leaf") for way in DIRECTIONS}
    assert {part for kind, part in stopped if kind is Kill} == {"", "leaf", "spine"}


def test_racks_are_drawn_as_ever():
    """An old seed means the old schedules: a quantity that each draw moves, read off before there were fabrics."""
    seeds = [draw_schedule(5, number).scenario.job.size_bytes for number in range(12)]
    assert seeds == OLD


def test_nothing_is_reflected_between_switches():
    """A leaf passes on what is reflected; reflected again, a host's own packet would come to the spine."""
    for scenario in MANY:
        hosts = {node.name for node in scenario.topology.hosts}
        for fault in scenario.faults:
            if isinstance(fault, Forge) and fault.what == "reflected":
                assert {scenario.topology.link(link).a for link in fault.links} <= hosts
    assert any(isinstance(fault, Forge) and fault.what == "reflected" for s in MANY for fault in s.faults)


def over(topology, *faults):
    return Scenario(
        name="x", topology=topology, link=SHAPE, transport=Transport(path_mtu=256, timeout_code=10),
        job=Job(size_bytes=2000, message_packets=2, window_messages=2), faults=faults,
    )  # fmt: skip


def test_a_packet_travels_twice_as_far_over_spines():
    near, far = travel_ns(over(rack(3, SHAPE))), travel_ns(over(spine_leaf([2, 1], 1, SHAPE)))
    assert far == 2 * near


def test_attempts_are_lost_once_per_tier_and_direction_and_the_answer_too():
    fabric = spine_leaf([2, 1], 1, SHAPE)
    hosts, uplinks = ("h1-leaf1", "h2-leaf1"), ("leaf1-spine1",)
    rto = 4096 << 10

    def lost(links, directions, match):
        return (disturbance_ns(over(fabric, Drop("d", links, directions, match=match))) or 0) // rto

    data = Match(opcodes=frozenset({7}), attempt=1)
    assert lost(hosts, (Direction.UP,), data) == 1
    assert lost((*hosts, *uplinks), (Direction.UP,), data) == 2
    assert lost((*hosts, *uplinks), DIRECTIONS, data) == 4
    assert lost((*hosts, *uplinks), DIRECTIONS, Match(attempt=1)) == 8
    only = over(rack(3, SHAPE), Drop("d", ("h1-s1",), match=Match(attempt=1)))
    assert disturbance_ns(only) == 2 * rto


def test_simpler_fabrics():
    fabric = spine_leaf([2, 1, 1], 2, SHAPE, UPLINK)
    smaller = {
        (*(len(one.hosts) for one in racks_of(each, each.hosts).racks), len(each.switches))
        for each in smaller_fabrics(fabric, SHAPE)
    }
    assert smaller == {(1, 1, 4), (2, 1, 4), (2, 1, 1, 4), (1, 1, 1, 5)}
    plain = plain_fabric(fabric, SHAPE)
    assert plain == spine_leaf([2, 1, 1], 2, SHAPE)
    assert plain_fabric(plain, SHAPE) is None
    assert not list(smaller_fabrics(spine_leaf([1, 1], 1, SHAPE), SHAPE))


def test_a_window_that_ends_is_no_matter_of_tiers():
    fault = Loss("l", ("leaf1-spine1",), window=Window(0, 77))
    assert disturbance_ns(over(spine_leaf([1, 1], 1, SHAPE), fault)) == 77


def test_a_forgery_between_switches_and_a_plain_start_stand_alone():
    """Two of them together make what no honest leaf sends. Found by hunting."""

    def forged(name, what, *links):
        return Forge(name, links, (Direction.UP,), Window(0, None), Match(), 0.1, what, True, 0)

    inner, outer = forged("inner", "stray", "leaf1-spine1"), forged("outer", "stray", "h1-leaf1")
    host, raw = forged("host", "unserved", "h2-leaf1"), forged("raw", "stray_plain", "h2-leaf1")
    calm = over(spine_leaf([2, 1], 1, SHAPE))
    assert _fits(calm, inner)
    assert _fits(calm, raw)
    for one, other, fits in ((outer, inner, False), (raw, outer, False), (outer, host, True), (host, outer, True)):
        assert _fits(over(calm.topology, one), other) == _fits(over(calm.topology, other), one) == fits
    beside = forged("beside", "stray", "h1-s1")
    assert _fits(over(rack(3, SHAPE), forged("plain", "old_plain", "h2-s1")), beside)


def test_recipes_forge_at_hosts_only():
    """They forge several things at once."""
    drawn = 0
    for scenario in MANY:
        forgeries = [fault for fault in scenario.faults if isinstance(fault, Forge)]
        hosts = {node.name for node in scenario.topology.hosts}
        if len(forgeries) > 1:
            drawn += 1
            assert {scenario.topology.link(link).a for forge in forgeries for link in forge.links} <= hosts
    assert drawn


def test_forged_copies_take_time_too():
    """Found by hunting: two strays beside every packet of every link filled queues of six for ever."""
    calm = spine_leaf([2, 1], 1, SHAPE)
    stray = Forge("f", ("h1-leaf1",), (Direction.UP,), what="stray_plain", rate=1.0)
    both = replace(stray, links=("h1-leaf1", "leaf1-spine1"))
    once, twice = travel_ns(over(calm, stray)), travel_ns(over(calm, both))
    assert travel_ns(over(calm)) < once < twice
    assert travel_ns(over(calm, replace(stray, match=Match(message=1)))) == travel_ns(over(calm))
