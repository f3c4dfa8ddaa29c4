"""`background`: the traffic of other tenants, between file and value."""

from __future__ import annotations

from typing import Any

from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.units import format_duration, format_rate, format_size
from testbed.reading.validate import validate_mapping, validate_section
from testbed.scenario.model import BackgroundFlow
from testbed.scenario.schema import BackgroundKeys
from topologies import LinkShape, Topology

__all__ = ["dump_background", "load_background"]

_UDP_HEADERS = 28
"""IPv4 and UDP, bytes"""


def load_background(
    problems: Problems, value: object, world: str | None, topology: tuple[Topology, LinkShape] | None
) -> tuple[BackgroundFlow, ...]:
    """Those that are good; problems of the others are told."""
    if value is None:
        return ()
    if not isinstance(value, list):
        problems.add(("background",), "not a list", found=show(value), allowed="one flow per `- kind: ...`")
        return ()
    flows: list[BackgroundFlow] = []
    for index, entry in enumerate(value):
        path: KeyPath = ("background", index)
        if validate_mapping(problems, path, entry, "the flow") is None:
            continue
        keys = validate_section(problems, path, entry, BackgroundKeys, "the flow")
        if keys is None or not _fits(problems, path, keys, world, topology):
            continue
        name = keys.name or f"{keys.kind}-{index + 1}"
        if name in {flow.name for flow in flows}:
            problems.add((*path, "name"), "two flows of one name", found=f"'{name}'", allowed="a name of its own")
            continue
        flows.append(
            BackgroundFlow(
                name,
                keys.kind,
                keys.source,
                keys.target,
                keys.rate,
                keys.start,
                keys.stop,
                keys.size,
                keys.payload,
                keys.ecn,
            )
        )
    return tuple(flows)


def _fits(
    problems: Problems,
    path: KeyPath,
    keys: BackgroundKeys,
    world: str | None,
    topology: tuple[Topology, LinkShape] | None,
) -> bool:
    before = len(problems)
    if keys.kind == "tcp":
        if world == "simulated":
            problems.add(
                (*path, "kind"), "TCP runs in the emulated world only: the simulated one has no model of the kernel's",
                found="world simulated", allowed="kind: udp, or world: emulated",
            )  # fmt: skip
        for key in {"payload", "ecn"} & keys.model_fields_set:
            problems.add((*path, key), "only UDP has it", allowed="leave the key out")
    elif keys.rate is None:
        problems.add((*path, "rate"), "is missing", allowed="of the UDP flow's Ethernet frames, as 20Mbps")
    if keys.stop is not None and keys.stop <= keys.start:
        found = f"start {format_duration(keys.start)}, stop {format_duration(keys.stop)}"
        problems.add((*path, "stop"), "it ends before it begins", found=found, allowed="a time after start")
    if topology is not None:
        _fits_topology(problems, path, keys, topology[0])
    return len(problems) == before


def _fits_topology(problems: Problems, path: KeyPath, keys: BackgroundKeys, topology: Topology) -> None:
    hosts = [host.name for host in topology.hosts]
    for key, name in (("from", keys.source), ("to", keys.target)):
        if name not in hosts:
            problems.add(
                (*path, key), "no such host", found=show(name), allowed=", ".join(hosts), hint=closest(name, hosts)
            )
    if keys.source == keys.target:
        problems.add((*path, "to"), "a flow from a host to itself crosses no link", found=show(keys.target))
    least = min(link.shape.mtu for link in topology.links)
    if keys.kind == "udp" and keys.payload + _UDP_HEADERS > least:
        problems.add(
            (*path, "payload"), "the datagram does not fit the smallest MTU", found=str(keys.payload),
            allowed=f"at most {least - _UDP_HEADERS} (MTU {least}, {_UDP_HEADERS} bytes of IPv4 and UDP headers)",
        )  # fmt: skip


def dump_background(flow: BackgroundFlow) -> dict[str, Any]:
    """The entry that loads back to the same value."""
    result: dict[str, Any] = {"kind": flow.kind, "name": flow.name, "from": flow.source, "to": flow.target}
    if flow.rate_bps is not None:
        result["rate"] = format_rate(flow.rate_bps)
    result["start"] = format_duration(flow.start_ns)
    if flow.stop_ns is not None:
        result["stop"] = format_duration(flow.stop_ns)
    if flow.size_bytes is not None:
        result["size"] = format_size(flow.size_bytes)
    if flow.kind == "udp":
        result |= {"payload": flow.payload_bytes, "ecn": flow.ecn}
    return result
