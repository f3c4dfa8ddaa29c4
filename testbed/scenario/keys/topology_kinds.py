"""`topology`: kinds of networks by name. A new kind is one entry here, its keys, and one function in `topologies/`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from testbed.reading.changes import difference, with_changes
from testbed.reading.compound import Tagged
from testbed.reading.keytypes import At
from testbed.reading.problems import Problems, closest
from testbed.reading.sections import NotKnown, Section, as_far_as_known
from testbed.scenario.keys.custom_topology import custom_keys, load_custom
from testbed.scenario.keys.link import LinkChanges, check_shape
from testbed.scenario.keys.topology_keys import (
    Custom,
    FatTree,
    GridTriangle,
    MachineRacks,
    Rack,
    RackAccelerator,
    SpineLeaf,
)
from topologies import (
    LinkShape,
    Topology,
    fat_tree,
    grid_triangle,
    machine_groups,
    machines,
    rack,
    rack_accelerator,
    spine_leaf,
)

__all__ = ["TOPOLOGY", "TOPOLOGY_KINDS", "KnownNetwork", "TopologyKind", "network_of", "topology_section"]

Shapes = dict[str, LinkShape]
"""by tier (`link`, `uplink`, ...), or of single links by name"""


@dataclass(frozen=True, slots=True)
class KnownNetwork:
    """What `topology` says."""

    topology: Topology
    link: LinkShape
    """shape of links without an override"""
    shapes_known: bool = True
    """false: the nodes and links are right, but the shape of some link is wrong, and that problem is reported"""


@dataclass(frozen=True, slots=True)
class TopologyKind:
    keys: type[Section]
    """its docstring says what it is"""
    build: Callable[[Any, Shapes, Shapes], Topology]
    """(keys, shapes by tier, shapes of single links by name) -> graph"""
    own: Callable[[Topology], dict[str, Any]]
    """graph -> fields of `keys` but for shapes"""
    tiers: tuple[tuple[str, str], ...] = ()
    """(key that holds what is different on the links of a tier, part of their lower ends), from the hosts upwards"""

    @property
    def meaning(self) -> str:
        """Markdown, on one line."""
        return " ".join((self.keys.__doc__ or "").split())


def _own_spine_leaf(topology: Topology) -> dict[str, Any]:
    leaves = [node.name for node in topology.switches if node.part == "leaf"]
    counts = [sum(link.b == leaf for link in topology.links) for leaf in leaves]
    return {
        "leaves": len(leaves),
        "spines": len(topology.switches) - len(leaves),
        "hosts_per_leaf": counts[0] if len(set(counts)) == 1 else tuple(counts),
        "multipath": topology.multipath,
    }


def _own_machines(topology: Topology) -> dict[str, Any]:
    groups = machine_groups(topology)
    return {"machines": len(groups), "workers_per_machine": len(groups[0])}


TOPOLOGY_KINDS: dict[str, TopologyKind] = {
    "rack": TopologyKind(
        Rack,
        lambda keys, tiers, links: rack(keys.hosts, tiers["link"], links),
        lambda topology: {"hosts": len(topology.hosts)},
    ),
    "rack_accelerator": TopologyKind(
        RackAccelerator,
        lambda keys, tiers, links: rack_accelerator(
            keys.hosts, keys.accelerator_ports, tiers["link"], tiers["accelerator_link"], links
        ),
        lambda topology: {
            "hosts": len(topology.hosts),
            "accelerator_ports": len(topology.links) - len(topology.hosts),
        },
        (("accelerator_link", "commodity"),),
    ),
    "spine_leaf": TopologyKind(
        SpineLeaf,
        lambda keys, tiers, links: replace(
            spine_leaf(keys.counts, keys.spines, tiers["link"], tiers["uplink"], links, keys.oversubscription),
            multipath=keys.multipath,
        ),
        _own_spine_leaf,
        (("uplink", "leaf"),),
    ),
    "fat_tree": TopologyKind(
        FatTree,
        lambda keys, tiers, links: replace(
            fat_tree(keys.k, tiers["link"], tiers["uplink"], tiers["core"], links), multipath=keys.multipath
        ),
        lambda topology: {"k": len(list(topology.ports("core1"))), "multipath": topology.multipath},
        (("uplink", "edge"), ("core", "aggregation")),
    ),
    "machines": TopologyKind(
        MachineRacks,
        lambda keys, tiers, links: machines(
            keys.machines, keys.workers_per_machine, tiers["link"], tiers["uplink"], links
        ),
        _own_machines,
        (("uplink", "machine"),),
    ),
    "grid_triangle": TopologyKind(
        GridTriangle,
        lambda keys, tiers, links: grid_triangle(tiers["link"], tiers["server_link"], links),
        lambda topology: {},
        (("server_link", "server"),),
    ),
    "custom": TopologyKind(
        Custom,
        lambda keys, tiers, links: _never_built(),
        lambda topology: {},
    ),
}


def _never_built() -> Topology:
    raise AssertionError("a custom topology is loaded as it stands")


TOPOLOGY = Tagged(
    "kind",
    lambda: {word: kind.keys for word, kind in TOPOLOGY_KINDS.items()},
    "the topology",
    "unknown kind of topology",
)
"""how the section stands in a file"""


def network_of(at: At, section: Section) -> KnownNetwork | None:
    """The network of a section; all problems are reported. None where its nodes and links cannot be known."""
    kind = TOPOLOGY_KINDS[TOPOLOGY.word(section)]
    tiers, known = _tiers(at, section, kind)
    with as_far_as_known():
        if isinstance(section, Custom):
            custom = load_custom(at, section, tiers["link"])
            return None if custom is None else KnownNetwork(custom[0], tiers["link"], known and custom[1])
        if not _fits(section):
            return None
        plain = kind.build(section, tiers, {})
        links, good = _single_links(at / "links", section, plain)
        return KnownNetwork(kind.build(section, tiers, links), tiers["link"], known and good)
    return None


def _fits(section: Section) -> bool:
    """Whether the keys fit together. Another check has reported those that do not."""
    problems = Problems("", {})
    section.check(At(problems))
    return not problems


def _tiers(at: At, section: Any, kind: TopologyKind) -> tuple[Shapes, bool]:
    """Each tier has the shape of the one below, but for what its key changes; whether all of that is known."""
    shape, known = LinkShape(), False
    with as_far_as_known():
        known = check_shape(at / "link", section.link)
        shape = section.link
    tiers = {"link": shape}
    for key, _ in kind.tiers:
        tiers[key], good = _changed(at / key, shape, section, key)
        shape, known = tiers[key], known and good
    return tiers, known


def _changed(at: At, shape: LinkShape, section: Any, key: str) -> tuple[LinkShape, bool]:
    try:
        changes = getattr(section, key)
        changed = with_changes(shape, changes)
    except NotKnown:
        return shape, False
    good = changed == shape or check_shape(at, changed)
    return changed if good else shape, good


def _single_links(at: At, section: Any, topology: Topology) -> tuple[Shapes, bool]:
    """Shapes of the links that differ; whether all of them are known."""
    known, result, good = [link.name for link in topology.links], Shapes(), True
    try:
        links = section.links
    except NotKnown:
        return {}, False
    for name, changes in links.items():
        if name not in known:
            (at / name).add("no such link", allowed=", ".join(known), hint=closest(name, known))
            good = False
            continue
        try:
            result[name] = with_changes(topology.link(name).shape, changes)
        except NotKnown:
            good = False
            continue
        good = check_shape(at / name, result[name]) and good
    return result, good


def topology_section(topology: Topology, shape: LinkShape) -> Section:
    """The keys that give the same graph. `shape`: of links without an override."""
    kind = TOPOLOGY_KINDS[topology.kind]
    if topology.kind == "custom":
        return custom_keys(topology, shape)
    own = kind.own(topology)
    make: Any = kind.keys
    section = make(**own, link=shape)
    tiers, changes = {"link": shape}, {}
    for key, part in kind.tiers:
        lower = {node.name for node in topology.nodes if node.part == part}
        tiers[key] = next(link.shape for link in topology.links if link.a in lower)
        changes[key] = difference(tiers[key], shape, LinkChanges)
        shape = tiers[key]
    plain = kind.build(section, tiers, {})
    links = {link.name: difference(link.shape, plain.link(link.name).shape, LinkChanges) for link in topology.links}
    single = {name: keys for name, keys in links.items() if keys != LinkChanges()}
    whole: Section = make(**own, **changes, link=tiers["link"], links=single)
    return whole
