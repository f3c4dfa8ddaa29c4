"""Pure graphs: which nodes there are, how they are linked, their addresses, and the ways through
(`topologies.routing`)."""

from topologies.addressing import (
    MAX_HOSTS,
    MAX_PORTS,
    MAX_RACK_HOSTS,
    MAX_RANKS,
    MAX_SWITCHES,
    PREFIX_LENGTH,
    format_ip,
    format_mac,
    host_ip,
    host_mac,
)
from topologies.assembly import Cable, assemble, host, switch
from topologies.fat_tree import fat_tree
from topologies.graph import DIRECTIONS, Direction, Link, LinkShape, Node, RedShape, Role, Topology
from topologies.grid_triangle import grid_triangle
from topologies.machines import machine_groups, machines
from topologies.rack import rack
from topologies.rack_accelerator import Attachment, attachment, rack_accelerator
from topologies.spine_leaf import spine_leaf

__all__ = [
    "DIRECTIONS",
    "MAX_HOSTS",
    "MAX_PORTS",
    "MAX_RACK_HOSTS",
    "MAX_RANKS",
    "MAX_SWITCHES",
    "PREFIX_LENGTH",
    "Attachment",
    "Cable",
    "Direction",
    "Link",
    "LinkShape",
    "Node",
    "RedShape",
    "Role",
    "Topology",
    "assemble",
    "attachment",
    "fat_tree",
    "format_ip",
    "format_mac",
    "grid_triangle",
    "host",
    "host_ip",
    "host_mac",
    "machine_groups",
    "machines",
    "rack",
    "rack_accelerator",
    "spine_leaf",
    "switch",
]
