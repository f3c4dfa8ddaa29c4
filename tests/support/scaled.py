"""Scenarios on faster links: rates of links, and of switches that aggregate, are multiplied; delays stay."""

from __future__ import annotations

from dataclasses import replace

from testbed.scenario.model import Scenario
from topologies import LinkShape

__all__ = ["at_rate"]


def at_rate(scenario: Scenario, factor: int) -> Scenario:
    def faster(shape: LinkShape) -> LinkShape:
        return replace(shape, rate_bps=shape.rate_bps * factor)

    topology = scenario.topology
    links = tuple(replace(link, shape=faster(link.shape)) for link in topology.links)
    routing = scenario.routing
    if routing is not None:
        routing = replace(routing, capacities=tuple((name, rate * factor) for name, rate in routing.capacities))
    return replace(scenario, topology=replace(topology, links=links), link=faster(scenario.link), routing=routing)
