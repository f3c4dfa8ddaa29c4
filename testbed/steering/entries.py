"""Flow rules of ours as entries of OpenFlow tables: values, no messages. Port p of a switch is OpenFlow port p + 1.

The cookie of an entry and the number of a group follow from their content. So the cookies alone show what a switch
already holds, regardless of who installed it. The same rules give the same entries in every life of a controller.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from switch_nodes.steering.rules import FLOOD, FlowMatch, FlowRule
from topologies import format_ip, format_mac

__all__ = ["FlowEntry", "GroupEntry", "Table", "make_table", "openflow_port"]

_IPV4, _UDP = 0x0800, 17
_LINK_LOCAL = ("01:80:c2:00:00:00", "ff:ff:ff:ff:ff:f0")
"""IEEE 802.1D, 7.12.6: spanning tree, pause, LLDP never cross a bridge"""
_MAX_GROUP = 0x7FFFFFFF

MatchValue = int | str | tuple[str, str]


def openflow_port(port: int) -> int:
    return port + 1


def _digest(*content: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(content).encode(), digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """A select group: each flow takes one of `ports`, by a hash of its addresses and ports that the switch computes."""

    ports: tuple[int, ...]
    """OpenFlow ports, at least two"""
    salt: int
    """basis of the hash, so that switches choose independently"""

    @property
    def number(self) -> int:
        """1 .. 2^31 - 1"""
        return 1 + _digest("group", self.ports, self.salt) % _MAX_GROUP


@dataclass(frozen=True, slots=True)
class FlowEntry:
    name: str
    """name of the rule that it comes from; a rule may need several entries"""
    priority: int
    match: tuple[tuple[str, MatchValue], ...]
    """OXM fields by their names, prerequisites included; a pair of texts is (value, mask)"""
    ports: tuple[int, ...] = ()
    """OpenFlow ports that each get the frame; the port that it came in by never does (OpenFlow 1.5, 5.8)"""
    group: int = 0
    """instead of ports; 0: none"""

    @property
    def cookie(self) -> int:
        """64 bits, never 0 and never all ones (which OpenFlow reserves)"""
        return 1 + _digest("flow", self.name, self.priority, self.match, self.ports, self.group) % ((1 << 64) - 2)


@dataclass(frozen=True, slots=True)
class Table:
    """All that one switch shall hold."""

    flows: tuple[FlowEntry, ...] = ()
    groups: tuple[GroupEntry, ...] = ()


def make_table(rules: Iterable[FlowRule], flood_ports: Iterable[int], salt: int) -> Table:
    """`flood_ports`: living ports of the spanning tree; floods come in and go out there only."""
    tree = tuple(openflow_port(port) for port in flood_ports)
    flows: list[FlowEntry] = []
    groups: dict[tuple[int, ...], GroupEntry] = {}
    for rule in rules:
        if rule.outputs == (FLOOD,):
            flows += _flood(rule, tree)
            continue
        ports = tuple(openflow_port(port) for port in rule.outputs)
        if len(ports) > 1 and not rule.copies:
            group = groups.setdefault(ports, GroupEntry(ports, salt))
            flows.append(FlowEntry(rule.name, int(rule.priority), tuple(_fields(rule.match)), group=group.number))
        else:
            flows.append(FlowEntry(rule.name, int(rule.priority), tuple(_fields(rule.match)), ports))
    return Table(tuple(flows), tuple(groups.values()))


def _flood(rule: FlowRule, tree: tuple[int, ...]) -> Iterator[FlowEntry]:
    """One entry per port of the tree; what no entry matches is dropped."""
    fields = dict(_fields(rule.match))
    yield FlowEntry(f"{rule.name}-not", int(rule.priority) + 1, tuple({**fields, "eth_dst": _LINK_LOCAL}.items()))
    for port in tree:
        others = tuple(other for other in tree if other != port)
        yield FlowEntry(
            f"{rule.name}-{port - 1}", int(rule.priority), tuple({**fields, "in_port": port}.items()), others
        )


def _fields(match: FlowMatch) -> Iterator[tuple[str, MatchValue]]:
    """With the fields that OpenFlow wants to see before others (OpenFlow 1.5, 7.2.3.6)."""
    if match.in_port is not None:
        yield "in_port", openflow_port(match.in_port)
    if match.eth_dst is not None:
        yield "eth_dst", format_mac(match.eth_dst)
    if (match.ip_src, match.ip_dst, match.dscp, match.udp_dst) != (None, None, None, None):
        yield "eth_type", _IPV4
    if match.ip_src is not None:
        yield "ipv4_src", format_ip(match.ip_src)
    if match.ip_dst is not None:
        yield "ipv4_dst", format_ip(match.ip_dst)
    if match.dscp is not None:
        yield "ip_dscp", match.dscp
    if match.udp_dst is not None:
        yield "ip_proto", _UDP
        yield "udp_dst", match.udp_dst
