"""Troubles of datagram protocols that dice alone would seldom bring together: some traced schedules follow one of
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from testbed.faults.model import Drop, Duplicate, Fault, Kill, Match, Window
from testbed.hunt.contract import Hunted
from testbed.hunt.survival_datagrams import travel_ns
from testbed.scenario.model import Scenario
from topologies import Direction

__all__ = ["datagram_recipes"]

_UP, _DOWN = (Direction.UP,), (Direction.DOWN,)


def _links(scenario: Scenario) -> tuple[str, ...]:
    return tuple(link.name for link in scenario.topology.links)


def _starting_anew(draw: Random, scenario: Scenario, nodes: Sequence[str]) -> Fault:
    """One of the nodes does, in no time, while jobs run."""
    start = draw.randrange(1, draw.choice((2, 4, 8)) * max(2, travel_ns(scenario)))
    return Kill("kill-2", draw.choice(nodes), Window(start, start + draw.randint(1, 1000)))


def _forgetting(draw: Random, scenario: Scenario) -> Fault:
    return _starting_anew(draw, scenario, [switch.name for switch in scenario.topology.switches])


def _losing_results(draw: Random, scenario: Scenario) -> Fault:
    """The first copies on their way to some workers."""
    links = _links(scenario)
    some = tuple(link for link in links if link == links[0] or draw.random() < 0.4)
    return Drop("drop-1", some, _DOWN, match=Match(attempt=draw.choice((1, 1, 2))))


def late_copies_for_a_forgetful_switch(draw: Random, scenario: Scenario) -> Scenario:
    """It takes old copies for contributions, since it does not know what came before."""
    later = draw.randint(1, draw.choice((2, 6)) * max(1, travel_ns(scenario)))
    copies = Duplicate("duplicate-1", _links(scenario), _UP, rate=draw.choice((0.5, 1.0)), delay_ns=later)
    return replace(scenario, faults=(copies, _forgetting(draw, scenario)))


def some_lag_behind_a_forgetful_switch(draw: Random, scenario: Scenario) -> Scenario:
    """Some workers have a sum, the others still ask for it when the switch has forgotten it."""
    return replace(scenario, faults=(_losing_results(draw, scenario), _forgetting(draw, scenario)))


def some_lag_behind_a_forgetful_server(draw: Random, scenario: Scenario) -> Scenario:
    """Some workers have a sum, which the server that the others ask for it has forgotten."""
    lost = _losing_results(draw, scenario)
    servers = sorted({job.server for job in scenario.all_jobs})
    return replace(scenario, faults=(lost, _starting_anew(draw, scenario, servers)))


def datagram_recipes(protocol: Hunted) -> tuple[Callable[[Random, Scenario], Scenario], ...]:
    """Those that a protocol's nodes can follow."""
    of_switches = late_copies_for_a_forgetful_switch, some_lag_behind_a_forgetful_switch
    return (*of_switches, some_lag_behind_a_forgetful_server) if protocol.server else of_switches
