"""Troubles of GRID that dice alone would seldom bring together: some traced schedules follow one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from testbed.faults.model import Drop, Duplicate, Fault, Kill, LinkDown, Match, Window
from testbed.hunt.survival_datagrams import travel_ns
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Scenario
from topologies import Direction

__all__ = ["GRID_RECIPES"]

_UP, _DOWN = (Direction.UP,), (Direction.DOWN,)


def _links_of(scenario: Scenario, hosts: Sequence[str]) -> tuple[str, ...]:
    return tuple(link.name for link in scenario.topology.links if link.a in hosts or link.b in hosts)


def _worker_links(scenario: Scenario) -> tuple[str, ...]:
    return _links_of(scenario, [node.name for node in scenario.ranks])


def _soon(draw: Random, scenario: Scenario) -> int:
    """While the job runs."""
    return draw.randrange(1, draw.choice((1, 1, 2)) * max(2, travel_ns(scenario)))


def _late_copies(draw: Random, scenario: Scenario) -> Fault:
    """Of what workers send, when their blocks are over, or nearly so."""
    later = draw.randint(1, draw.choice((1, 4, 16)) * scenario.transport.chosen_rto_ns)
    return Duplicate("duplicate-1", _worker_links(scenario), _UP, rate=draw.choice((0.5, 0.8, 1.0)), delay_ns=later)


def _losing_results(draw: Random, scenario: Scenario) -> Fault:
    """The first copies of results, on their way to some workers."""
    links = _worker_links(scenario)
    some = tuple(link for link in links if link == links[0] or draw.random() < 0.4)
    return Drop("drop-2", some, _DOWN, match=Match(attempt=draw.choice((1, 1, 2))))


def _straggling(draw: Random, scenario: Scenario) -> Scenario:
    """One worker is late by some timeouts of the others, which so ask for what is not complete."""
    late = draw.randint(1, 6) * scenario.transport.chosen_rto_ns
    job = replace(scenario.job, straggler=Straggler(draw.randrange(len(scenario.ranks)), late))
    return replace(scenario, job=job)


def late_copies_of_what_was_flushed(draw: Random, scenario: Scenario) -> Scenario:
    """A worker lags behind, the others ask, and copies of their first packets come when their block went around."""
    return replace(_straggling(draw, scenario), faults=(_late_copies(draw, scenario),))


def the_server_hears_little(draw: Random, scenario: Scenario) -> Scenario:
    """What goes around the switches is lost on the last link, and copies come after it."""
    last = _links_of(scenario, [scenario.job.server])
    lost = Drop("drop-2", last, _UP if draw.random() < 0.7 else _DOWN, match=Match(attempt=draw.choice((1, 1, 2))))
    late = _late_copies(draw, scenario)
    return replace(_straggling(draw, scenario), faults=(late, _up_to(scenario, lost)))


def _up_to(scenario: Scenario, fault: Drop) -> Drop:
    """A host's link goes up from the host: towards the server is down."""
    (name,) = fault.links
    if scenario.topology.link(name).a != scenario.job.server:
        return fault
    return replace(fault, directions=_DOWN if fault.directions == _UP else _UP)


def late_copies_for_a_forgetful_switch(draw: Random, scenario: Scenario) -> Scenario:
    """It takes old copies for contributions, since it does not know what came before."""
    start = _soon(draw, scenario)
    node = draw.choice(scenario.topology.switches).name
    kill = Kill("kill-2", node, Window(start, start + draw.randint(1, 1000)))
    return replace(scenario, faults=(_late_copies(draw, scenario), kill))


def some_lag_behind_a_forgetful_server(draw: Random, scenario: Scenario) -> Scenario:
    """Some workers have a sum, which the server that the others ask for it has forgotten."""
    start = _soon(draw, scenario)
    kill = Kill("kill-1", scenario.job.server, Window(start, start + draw.randint(1, 1000)))
    return replace(scenario, faults=(kill, _losing_results(draw, scenario)))


def late_copies_for_a_forgetful_server(draw: Random, scenario: Scenario) -> Scenario:
    """It takes what is long over for what was just begun, and asks workers that have forgotten it as well."""
    start = _soon(draw, scenario)
    kill = Kill("kill-1", scenario.job.server, Window(start, start + draw.randint(1, 1000)))
    later = draw.randint(1, draw.choice((2, 4, 8)) * max(1, travel_ns(scenario)))
    last = _links_of(scenario, [scenario.job.server])
    late = Duplicate("duplicate-2", last, rate=draw.choice((0.5, 1.0)), delay_ns=later)
    narrow = replace(scenario.job, window_packets=draw.choice((1, 1, 2)))
    return replace(scenario, job=narrow, faults=(kill, late))


def copies_from_before_the_new_plan(draw: Random, scenario: Scenario) -> Scenario:
    """A link goes away for a moment, so that there are two plans more, while packets of the old ones are on their
    way."""
    start = _soon(draw, scenario)
    switches = {node.name for node in scenario.topology.switches}
    trunks = [link.name for link in scenario.topology.links if {link.a, link.b} <= switches]
    links = (draw.choice(trunks or list(_worker_links(scenario))),)
    away = LinkDown(
        "link-down-2", links, window=Window(start, start + draw.randint(1, scenario.transport.chosen_rto_ns))
    )
    return replace(scenario, faults=(_late_copies(draw, scenario), away))


GRID_RECIPES: tuple[Callable[[Random, Scenario], Scenario], ...] = (
    late_copies_of_what_was_flushed,
    the_server_hears_little,
    late_copies_for_a_forgetful_switch,
    some_lag_behind_a_forgetful_server,
    late_copies_for_a_forgetful_server,
    copies_from_before_the_new_plan,
)
