"""`topology`: kinds of networks by name. A new kind is one entry here and one function in `topologies/`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from testbed.scenario.fields import Section
from testbed.scenario.problems import KeyPath, Problems, closest, show
from testbed.scenario.schema import LinkKeys, LinkOverrideKeys, RackKeys
from testbed.scenario.units import format_duration, format_rate
from testbed.scenario.validate import validate_mapping, validate_section
from topologies import LinkShape, Topology, rack

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


@dataclass(frozen=True, slots=True)
class TopologyKind:
    meaning: str
    keys: type[Section]
    build: Callable[[Any, LinkShape, dict[str, LinkShape]], Topology]
    """(keys, shape of all links, shapes of single links by name) -> graph"""
    dump: Callable[[Topology], dict[str, Any]]
    """graph -> its own keys, as a file would hold them"""


TOPOLOGY_KINDS: dict[str, TopologyKind] = {
    "rack": TopologyKind(
        "hosts h1..hN around one switch s1; links h1-s1 .. hN-s1",
        RackKeys,
        lambda keys, shape, links: rack(keys.hosts, shape, links),
        lambda topology: {"hosts": len(topology.hosts)},
    ),
}


def load_topology(problems: Problems, value: object) -> tuple[Topology, LinkShape] | None:
    """(graph, shape of links without an override), or None when there are problems (they are told)."""
    path: KeyPath = ("topology",)
    data = validate_mapping(problems, path, value, "the topology")
    if data is None:
        return None
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in TOPOLOGY_KINDS:
        known = list(TOPOLOGY_KINDS)
        problem = "unknown kind of topology" if "kind" in data else "is missing"
        found = show(kind) if "kind" in data else None
        problems.add((*path, "kind"), problem, found=found, allowed=", ".join(known), hint=closest(kind, known))
        return None
    keys = validate_section(problems, path, data, TOPOLOGY_KINDS[kind].keys, "the topology")
    shape = _load_link(problems, (*path, "link"), data.get("link"))
    if keys is None or shape is None:
        return None
    plain = TOPOLOGY_KINDS[kind].build(keys, shape, {})
    overrides = _load_overrides(problems, (*path, "links"), data.get("links"), plain, shape)
    return None if overrides is None else (TOPOLOGY_KINDS[kind].build(keys, shape, overrides), shape)


def _load_link(problems: Problems, path: KeyPath, value: object) -> LinkShape | None:
    if value is None:
        return LinkShape()
    keys = validate_section(problems, path, value, LinkKeys, "the link")
    if keys is None:
        return None
    shape = LinkShape(**{field: getattr(keys, key) for key, field in _SHAPE_FIELDS.items()})
    return _checked(problems, path, shape)


def _load_overrides(
    problems: Problems, path: KeyPath, value: object, topology: Topology, shape: LinkShape
) -> dict[str, LinkShape] | None:
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
        changed = None
        if keys is not None:
            given = {field: getattr(keys, key) for key, field in _SHAPE_FIELDS.items() if key in keys.model_fields_set}
            changed = _checked(problems, here, replace(shape, **given))
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
    result: dict[str, Any] = {"kind": topology.kind, **TOPOLOGY_KINDS[topology.kind].dump(topology)}
    result["link"] = _dump_shape(shape, None)
    links = {link.name: _dump_shape(link.shape, shape) for link in topology.links if link.shape != shape}
    if links:
        result["links"] = links
    return result


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
