"""Drawn schedules of the plain parameter server: which optimisations they have."""

from __future__ import annotations

from collections import Counter

from testbed.hunt.draw import draw_schedule
from tests.support.drawn import Drawn

MANY = Drawn(200, lambda number: draw_schedule(5, number, None, "ps", "ps").scenario)


def test_both_optimisations_are_drawn_each_with_and_without_the_other():
    drawn = Counter((one.job.own.aggregation, one.job.own.multicast) for one in MANY)
    assert set(drawn) == {(first, second) for first in (True, False) for second in (True, False)}
    assert min(drawn.values()) >= 10
    assert max(drawn, key=lambda pair: drawn[pair]) == (True, True)


def test_a_server_that_waits_has_no_floats_and_the_whole_gradient_outstanding():
    held = [one for one in MANY if not one.job.own.streaming]
    assert len(held) > 10
    for one in held:
        for job in one.all_jobs:
            assert job.dtype != "float32"
            assert job.window_packets * one.transport.path_mtu >= job.size_bytes


def test_fabrics_of_two_and_three_tiers_are_drawn_with_one_tree_and_with_several():
    drawn = Counter((one.topology.kind, one.topology.multipath) for one in MANY)
    assert {("spine_leaf", "flow"), ("spine_leaf", "spray"), ("fat_tree", "flow"), ("fat_tree", "spray")} < set(drawn)
    assert ("rack", "spray") not in drawn
    used = {
        host for one in MANY if one.topology.kind == "fat_tree" for job in one.jobs for host in (*job.hosts, job.server)
    }
    assert len(used) == 16
