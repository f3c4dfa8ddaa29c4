"""A rack whose one switch is a commodity switch, with an accelerator next to it: hosts h1..hN and accelerator a1 around
s1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from topologies.assembly import Cable, assemble, host, switch
from topologies.graph import Link, LinkShape, Topology

__all__ = ["Attachment", "attachment", "rack_accelerator"]

_COMMODITY, _ACCELERATOR = "commodity", "accelerator"


def rack_accelerator(
    hosts: int,
    accelerator_ports: int,
    shape: LinkShape,
    accelerator_link: LinkShape | None = None,
    overrides: Mapping[str, LinkShape] | None = None,
) -> Topology:
    """Links h1-s1 .. hN-s1, then s1-a1-1 .. s1-a1-K: port i-1 of s1 leads to h_i, port N+j-1 to port j-1 of the
    accelerator.

    `accelerator_link`: shape of the links to the accelerator (default: `shape`). `overrides`: of single links, by name.
    """
    nodes = [host(number) for number in range(1, hosts + 1)]
    cables = [Cable(node.name, "s1", shape) for node in nodes]
    cables += [Cable("s1", "a1", accelerator_link or shape, parallel) for parallel in range(1, accelerator_ports + 1)]
    return assemble(
        "rack_accelerator", [*nodes, switch("s1", _COMMODITY), switch("a1", _ACCELERATOR)], cables, overrides
    )


@dataclass(frozen=True, slots=True)
class Attachment:
    """An accelerator next to a commodity switch."""

    commodity: str
    accelerator: str
    links: tuple[Link, ...]
    """links from the commodity switch (`a`) to the accelerator (`b`), in the order of their ports"""


def attachment(topology: Topology) -> Attachment | None:
    """None where no switch is an accelerator."""
    for node in topology.switches:
        if node.part == _ACCELERATOR:
            links = tuple(link for link in topology.links if link.b == node.name)
            return Attachment(links[0].a, node.name, links)
    return None
