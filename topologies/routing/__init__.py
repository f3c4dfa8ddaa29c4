"""Which way packets take through a graph: pure functions of a Topology."""

from topologies.routing.combining import Junction, combining_trees
from topologies.routing.shortest import NextHops, component, next_hops, tiers
from topologies.routing.spanning import spanning_ports

__all__ = ["Junction", "NextHops", "combining_trees", "component", "next_hops", "spanning_ports", "tiers"]
