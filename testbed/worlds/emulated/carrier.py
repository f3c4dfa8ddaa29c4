"""Faults that take the carrier of an Open vSwitch port: pure.

Our own switches lose frames instead. Open vSwitch has no ports of ours, so the interface itself goes down, and the
switch reports it to its controller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from testbed.faults.model import Fault, Kill, LinkDown, Match
from testbed.worlds.emulated.schedule import Act, Action
from topologies import Link, Topology

__all__ = ["carrier_actions", "end_at", "is_cut"]


def is_cut(fault: Fault) -> bool:
    """Nothing at all passes in its windows."""
    return isinstance(fault, LinkDown) and fault.rate == 1 and fault.match == Match()


def end_at(link: Link, switches: Collection[str]) -> tuple[str, int] | None:
    """(switch, port) of the end of a link that is one of these switches."""
    ends = ((link.a, link.a_port), (link.b, link.b_port))
    return next((end for end in ends if end[0] in switches), None)


def carrier_actions(faults: Iterable[Fault], topology: Topology, switches: Collection[str]) -> tuple[Action, ...]:
    """Of the links that end at these switches, in no special order. A link that is down in one direction has no carrier
    at either end (remote fault, IEEE 802.3 clause 46). A dead node has no carrier on any of its links."""
    links = [link for link in topology.links if end_at(link, switches)]
    return tuple(action for fault in faults for link in links for action in _actions(fault, link))


def _actions(fault: Fault, link: Link) -> Iterator[Action]:
    if isinstance(fault, LinkDown) and is_cut(fault) and link.name in fault.links:
        turns, period = fault.count, fault.period_ns
    elif isinstance(fault, Kill) and fault.node in (link.a, link.b):
        turns, period = 1, 0
    else:
        return
    for turn in range(turns):
        later = turn * period
        yield Action(fault.window.start_ns + later, Act.CUT, fault.name, link.name)
        if fault.window.stop_ns is not None:
            yield Action(fault.window.stop_ns + later, Act.MEND, fault.name, link.name)
