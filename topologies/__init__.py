"""Pure graphs: which nodes there are, how they are linked, and their addresses."""

from topologies.addressing import MAX_HOSTS, PREFIX_LENGTH, format_ip, format_mac, host_ip, host_mac
from topologies.graph import DIRECTIONS, Direction, Link, LinkShape, Node, Role, Topology
from topologies.rack import rack

__all__ = [
    "DIRECTIONS",
    "MAX_HOSTS",
    "PREFIX_LENGTH",
    "Direction",
    "Link",
    "LinkShape",
    "Node",
    "Role",
    "Topology",
    "format_ip",
    "format_mac",
    "host_ip",
    "host_mac",
    "rack",
]
