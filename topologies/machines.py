"""Machines of several workers: hosts h1..hP, each machine's on a switch of its own m1..mK, and one uplink per
machine."""

from __future__ import annotations

from collections.abc import Mapping

from topologies.assembly import Cable, assemble, host, switch
from topologies.graph import LinkShape, Node, Topology

__all__ = ["machine_groups", "machines"]


def machines(
    count: int,
    workers_per_machine: int,
    shape: LinkShape,
    uplink: LinkShape | None = None,
    overrides: Mapping[str, LinkShape] | None = None,
) -> Topology:
    """Hosts are numbered machine by machine, so that the ranks of a machine are contiguous. Ports of a machine's
    switch: its workers, then the uplink; port k of the rack's switch s1 leads to machine k+1.

    `shape`: of the links inside a machine (`h1-m1`); `uplink`: of a machine's NIC (`m1-s1`; default: `shape`).
    `overrides`: shapes of single links. Raises ValueError for no machine or no worker."""
    if count < 1 or workers_per_machine < 1:
        raise ValueError("there is at least one machine, with at least one worker")
    insides = [switch(f"m{number}", "machine") for number in range(1, count + 1)]
    hosts = [host(number) for number in range(1, count * workers_per_machine + 1)]
    cables = [Cable(node.name, insides[index // workers_per_machine].name, shape) for index, node in enumerate(hosts)]
    cables += [Cable(inside.name, "s1", uplink or shape) for inside in insides]
    return assemble("machines", [*hosts, *insides, switch("s1", "rack")], cables, overrides)


def machine_groups(topology: Topology) -> tuple[tuple[Node, ...], ...]:
    """The hosts of each machine, in the order of the hosts: those that hang on one switch."""
    groups: dict[str, list[Node]] = {}
    for node in topology.hosts:
        (_, link, _), *_ = topology.ports(node.name)
        groups.setdefault(link.b, []).append(node)
    return tuple(tuple(group) for group in groups.values())
