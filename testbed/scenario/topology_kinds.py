"""`topology`: kinds of networks by name. A new kind is one entry here and one function in `topologies/`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from testbed.reading.fields import Section
from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.units import format_duration, format_rate
from testbed.reading.validate import validate_mapping, validate_section
from testbed.scenario.custom_topology import dump_custom, load_custom
from testbed.scenario.schema import (
    CustomKeys,
    FatTreeKeys,
    GridTriangleKeys,
    LinkKeys,
    LinkOverrideKeys,
    MachinesKeys,
    RackAcceleratorKeys,
    RackKeys,
    SpineLeafKeys,
)
from testbed.scenario.topology_checks import check_machines, check_spine_leaf
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

__all__ = ["TOPOLOGY_KINDS", "TopologyKind", "dump_topology", "load_topology"]

_SHAPE_FIELDS = {
    "rate": "rate_bps",
    "delay": "delay_ns",
    "jitter": "jitter_ns",
    "mtu": "mtu",
    "queue": "queue_packets",
    "ecn_threshold": "ecn_threshold_packets",
}
"""key of a link -> field of LinkShape"""


Shapes = dict[str, LinkShape]
"""by tier (`link`, `uplink`, ...), or of single links by name"""


@dataclass(frozen=True, slots=True)
class TopologyKind:
    meaning: str
    keys: type[Section]
    build: Callable[[Any, Shapes, Shapes], Topology]
    """(keys, shapes by tier, shapes of single links by name) -> graph"""
    dump: Callable[[Topology], dict[str, Any]]
    """graph -> its own keys but for shapes, as a file would hold them"""
    tiers: tuple[tuple[str, str], ...] = ()
    """(key that holds what is different on the links of a tier, part of their lower ends), from the hosts upwards"""
    check: Callable[[Problems, KeyPath, Any], bool] = lambda problems, path, keys: True
    """tells what is wrong between the keys; whether nothing is"""


def _hosts_per_leaf(keys: SpineLeafKeys) -> tuple[int, ...]:
    count = keys.hosts_per_leaf
    return count if isinstance(count, tuple) else (count,) * keys.leaves


def _dump_spine_leaf(topology: Topology) -> dict[str, Any]:
    leaves = [node.name for node in topology.switches if node.part == "leaf"]
    counts = [sum(link.b == leaf for link in topology.links) for leaf in leaves]
    return {
        "leaves": len(leaves),
        "spines": len(topology.switches) - len(leaves),
        "hosts_per_leaf": counts[0] if len(set(counts)) == 1 else counts,
    }


def _dump_machines(topology: Topology) -> dict[str, Any]:
    groups = machine_groups(topology)
    return {"machines": len(groups), "workers_per_machine": len(groups[0])}


TOPOLOGY_KINDS: dict[str, TopologyKind] = {
    "rack": TopologyKind(
        "hosts h1..hN around one switch s1; links h1-s1 .. hN-s1",
        RackKeys,
        lambda keys, tiers, links: rack(keys.hosts, tiers["link"], links),
        lambda topology: {"hosts": len(topology.hosts)},
    ),
    "rack_accelerator": TopologyKind(
        "a rack whose switch s1 is a commodity switch with accelerator a1 beside it; links h1-s1, s1-a1-1 .. s1-a1-K",
        RackAcceleratorKeys,
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
        "hosts h1..hN under leaf1..leafL, each leaf linked to spine1..spineS; links h1-leaf1, leaf1-spine1",
        SpineLeafKeys,
        lambda keys, tiers, links: spine_leaf(
            _hosts_per_leaf(keys), keys.spines, tiers["link"], tiers["uplink"], links, keys.oversubscription
        ),
        _dump_spine_leaf,
        (("uplink", "leaf"),),
        check_spine_leaf,
    ),
    "fat_tree": TopologyKind(
        "k-ary fat tree of k^3/4 hosts; links h1-edge1, edge1-agg1, agg1-core1",
        FatTreeKeys,
        lambda keys, tiers, links: fat_tree(keys.k, tiers["link"], tiers["uplink"], tiers["core"], links),
        lambda topology: {"k": len(list(topology.ports("core1")))},
        (("uplink", "edge"), ("core", "aggregation")),
    ),
    "machines": TopologyKind(
        "machines of several workers h1..hP, each on a switch mK of its machine with one uplink to s1; links h1-m1, m1-s1",
        MachinesKeys,
        lambda keys, tiers, links: machines(
            keys.machines, keys.workers_per_machine, tiers["link"], tiers["uplink"], links
        ),
        _dump_machines,
        (("uplink", "machine"),),
        check_machines,
    ),
    "grid_triangle": TopologyKind(
        "GRID's example: workers w1..w8 and server ps on a triangle of switches s1..s3; links w1-s1, ps-s3, s1-s3",
        GridTriangleKeys,
        lambda keys, tiers, links: grid_triangle(tiers["link"], tiers["server_link"], links),
        lambda topology: {},
        (("server_link", "server"),),
    ),
    "custom": TopologyKind(
        "node by node: names and roles, links with their ends and shapes",
        CustomKeys,
        lambda keys, tiers, links: _never_built(),
        dump_custom,
    ),
}


def _never_built() -> Topology:
    raise AssertionError("a custom topology is loaded as it stands")


def load_topology(problems: Problems, value: object) -> tuple[Topology, LinkShape] | None:
    """(graph, shape of links without an override), or None when there are problems (they are told)."""
    path: KeyPath = ("topology",)
    data = validate_mapping(problems, path, value, "the topology")
    if data is None:
        return None
    name = data.get("kind")
    if not isinstance(name, str) or name not in TOPOLOGY_KINDS:
        known = list(TOPOLOGY_KINDS)
        problem = "unknown kind of topology" if "kind" in data else "is missing"
        found = show(name) if "kind" in data else None
        problems.add((*path, "kind"), problem, found=found, allowed=", ".join(known), hint=closest(name, known))
        return None
    kind = TOPOLOGY_KINDS[name]
    keys = validate_section(problems, path, data, kind.keys, "the topology")
    shape = _load_link(problems, (*path, "link"), data.get("link"))
    tiers = None if shape is None else _load_tiers(problems, path, data, kind, shape)
    if keys is None or shape is None or tiers is None or not kind.check(problems, path, keys):
        return None
    if isinstance(keys, CustomKeys):
        custom = load_custom(problems, path, keys, partial(_changed, problems, shape))
        return None if custom is None else (custom, shape)
    plain = kind.build(keys, tiers, {})
    overrides = _load_overrides(problems, (*path, "links"), data.get("links"), plain)
    return None if overrides is None else (kind.build(keys, tiers, overrides), shape)


def _load_tiers(
    problems: Problems, path: KeyPath, data: dict[str, Any], kind: TopologyKind, shape: LinkShape
) -> Shapes | None:
    """Each tier has the shape of the one below, but for what its key changes."""
    tiers, good = {"link": shape}, True
    for key, _ in kind.tiers:
        value = data.get(key)
        changed: LinkShape | None = shape
        if value is not None:
            keys = validate_section(problems, (*path, key), value, LinkOverrideKeys, f"the {key}")
            changed = None if keys is None else _changed(problems, shape, (*path, key), keys)
        good = good and changed is not None
        tiers[key] = shape = changed or shape
    return tiers if good else None


def _load_link(problems: Problems, path: KeyPath, value: object) -> LinkShape | None:
    if value is None:
        return LinkShape()
    keys = validate_section(problems, path, value, LinkKeys, "the link")
    if keys is None:
        return None
    shape = LinkShape(**{field: getattr(keys, key) for key, field in _SHAPE_FIELDS.items()})
    return _checked(problems, path, shape)


def _changed(problems: Problems, shape: LinkShape, path: KeyPath, keys: LinkOverrideKeys) -> LinkShape | None:
    """`shape` with what `keys` give; None when that is no shape (it is told)."""
    given = {field: getattr(keys, key) for key, field in _SHAPE_FIELDS.items() if key in keys.model_fields_set}
    return _checked(problems, path, replace(shape, **given))


def _load_overrides(problems: Problems, path: KeyPath, value: object, topology: Topology) -> Shapes | None:
    if value is None:
        return {}
    data = validate_mapping(problems, path, value, "links")
    if data is None:
        return None
    known, result, good = [link.name for link in topology.links], {}, True
    for name, entry in data.items():
        here = (*path, name)
        if name not in known:
            problems.add(here, "no such link", allowed=", ".join(known), hint=closest(name, known))
            good = False
            continue
        keys = validate_section(problems, here, entry, LinkOverrideKeys, "the link")
        changed = None if keys is None else _changed(problems, topology.link(name).shape, here, keys)
        good = good and changed is not None
        if changed is not None:
            result[name] = changed
    return result if good else None


def _checked(problems: Problems, path: KeyPath, shape: LinkShape) -> LinkShape | None:
    if shape.jitter_ns > shape.delay_ns:
        found = f"delay {format_duration(shape.delay_ns)}, jitter {format_duration(shape.jitter_ns)}"
        problems.add((*path, "jitter"), "jitter exceeds the delay", found=found, allowed="0 to the delay")
        return None
    threshold = shape.ecn_threshold_packets
    if threshold is not None and threshold >= shape.queue_packets:
        found = f"queue {shape.queue_packets}, ecn_threshold {threshold}"
        problem = "the queue drops before it marks"
        problems.add((*path, "ecn_threshold"), problem, found=found, allowed="less than the queue")
        return None
    return shape


def dump_topology(topology: Topology, shape: LinkShape) -> dict[str, Any]:
    """The `topology` section that loads back to the same graph."""
    kind = TOPOLOGY_KINDS[topology.kind]
    own = kind.dump(topology)
    result: dict[str, Any] = {"kind": topology.kind, **own, "link": _dump_shape(shape, None)}
    if topology.kind == "custom":
        shapes = {link.name: _dump_shape(link.shape, shape) for link in topology.links}
        links = result.pop("links")
        return result | {"links": [entry | shapes[name] for name, entry in links.items()]}
    tiers = {"link": shape}
    for key, part in kind.tiers:
        lower = {node.name for node in topology.nodes if node.part == part}
        tiers[key] = next(link.shape for link in topology.links if link.a in lower)
        if tiers[key] != shape:
            result[key] = _dump_shape(tiers[key], shape)
        shape = tiers[key]
    plain = kind.build(kind.keys.model_validate({"kind": topology.kind, **own}), tiers, {})
    links = {link.name: _dump_shape(link.shape, plain.link(link.name).shape) for link in topology.links}
    changed = {name: keys for name, keys in links.items() if keys}
    return result | {"links": changed} if changed else result


def _dump_shape(shape: LinkShape, base: LinkShape | None) -> dict[str, Any]:
    texts = {
        "rate": format_rate(shape.rate_bps),
        "delay": format_duration(shape.delay_ns),
        "jitter": format_duration(shape.jitter_ns),
        "mtu": shape.mtu,
        "queue": shape.queue_packets,
        "ecn_threshold": "none" if shape.ecn_threshold_packets is None else shape.ecn_threshold_packets,
    }
    assert len(texts) == len(fields(shape))
    changed = {
        key for key, field in _SHAPE_FIELDS.items() if base is None or getattr(shape, field) != getattr(base, field)
    }
    return {key: text for key, text in texts.items() if key in changed}
