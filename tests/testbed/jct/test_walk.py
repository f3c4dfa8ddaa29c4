from __future__ import annotations

from itertools import islice

from testbed.jct.hops import Hop, HopLink, Hops, hop_of
from testbed.jct.hosts import HostSpans
from testbed.jct.model import JctPart, total
from testbed.jct.records import frame_of
from testbed.jct.walk import Walk
from testbed.scenario import load_scenario


def hop(begins: int, ends: int, place: int) -> Hop:
    link = load_scenario("rack").topology.links[0]
    frame = frame_of(ends, place, 100, b"", 0, True, 0, False)
    found = hop_of(HopLink("h1", "s1", link.shape), frame, begins, begins, ends, ends, -1, place)
    found.place = place
    return found


def test_frames_that_overlap_on_a_wire_do_not_lead_forward_in_time() -> None:
    """Between namespaces, the frame before may seem to begin after the next one."""
    first, second = hop(48, 50, 0), hop(10, 50, 1)
    hops = Hops(sent={"h1": [second, first]}, wires=[[first, second]])
    walk = Walk(hops, {"h1": HostSpans(timers=[(JctPart.TIMERS, 45, 45)])}, {}, late=5)
    steps = list(islice(walk.back("h1", 60, None), 100))
    assert len(steps) < 100
    assert sum(total(walk.to_start("h1", 60)).values()) == 60
