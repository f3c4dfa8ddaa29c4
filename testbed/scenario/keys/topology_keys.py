"""`topology`: the keys of each kind of network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from testbed.reading.compound import ListOf
from testbed.reading.fields import NodeNameKey, choice, even, number_above_zero, refuse, whole, whole_or_list
from testbed.reading.keytypes import At, KeyType, Plain, Refer, Told
from testbed.reading.sections import (
    NOT_GIVEN,
    Key,
    Section,
    SectionType,
    read_mapping,
    read_section,
    write_section,
)
from testbed.scenario.keys.link import LinkChanges, LinkChangesKey, LinkKey
from testbed.scenario.protocols import names
from topologies import MAX_HOSTS, MAX_PORTS, MAX_RACK_HOSTS, MAX_RANKS, LinkShape

__all__ = [
    "Custom",
    "CustomLink",
    "CustomNode",
    "FatTree",
    "GridTriangle",
    "MachineRacks",
    "Rack",
    "RackAccelerator",
    "SpineLeaf",
]

_NOTHING = LinkChanges()


@dataclass(frozen=True, slots=True)
class _LinksByName(KeyType):
    """What is different on single links, by their names."""

    def read(self, value: Any, at: At) -> Mapping[str, Any]:
        data = read_mapping(at, value, "links")
        if data is None:
            raise Told
        found = {name: read_section(at / name, entry, LinkChanges, "the link") for name, entry in data.items()}
        return {name: changes for name, changes in found.items() if changes is not None}

    def write(self, value: Mapping[str, Any]) -> Any:
        return {name: write_section(changes) for name, changes in value.items()} or None

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": refer(LinkChanges)}

    def sections(self) -> tuple[type, ...]:
        return (LinkChanges,)


AllLinks: TypeAlias = Annotated[LinkKey, Key(shown="", doc="the shape of every link")]
SingleLinks: TypeAlias = Annotated[
    Mapping[str, Any],
    _LinksByName(),
    Key(shown="none", doc="by name, what is different on one link: `links: {h2-s1: {rate: 50Mbps}}`"),
]
Uplink: TypeAlias = Annotated[
    LinkChangesKey,
    Key(
        shown="as `link`",
        doc="what is different on links from leaf to spine, from edge to aggregation, or on the NIC of a machine: "
        "`uplink: {rate: 40Mbps, delay: 1ms}`",
    ),
]

Multipath: TypeAlias = Annotated[
    str,
    choice(names.MULTIPATHS),
    Key(
        doc="which of several shortest paths a frame takes. `flow`: that of its flow; `spray`: each frame one of its "
        "own, drawn from the seed ([spraying](topologies.md#spraying))"
    ),
]


@dataclass(frozen=True, slots=True)
class Rack(Section):
    """hosts `h1` .. `hN` around one switch `s1`; links `h1-s1` .. `hN-s1`"""

    hosts: Annotated[int, whole(2, MAX_RACK_HOSTS)]
    """2 to 1024, with an accelerator 2 to 32 ([limits](commands.md#limits)). Host `hK` has
    rank K-1, here and in all kinds but `custom`"""
    link: AllLinks = LinkShape()
    links: SingleLinks = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RackAccelerator(Section):
    """a rack whose switch `s1` is a commodity switch, with accelerator `a1` next to it; links `h1-s1`, `s1-a1-1` ..
    `s1-a1-K` ([accelerator](accelerator.md))"""

    hosts: Annotated[int, whole(2, MAX_HOSTS)]
    """2 to 32"""
    accelerator_ports: Annotated[int, whole(1, MAX_PORTS - MAX_HOSTS)] = 2
    """links from the commodity switch to the accelerator; ring edges take them in turn"""
    link: AllLinks = LinkShape()
    accelerator_link: Annotated[LinkChangesKey, Key(shown="as `link`")] = _NOTHING
    """what is different on those links: `accelerator_link: {rate: 30Mbps}` makes an accelerator that takes less than
    its hosts send"""
    links: SingleLinks = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpineLeaf(Section):
    """hosts `h1` .. `hN` under `leaf1` .. `leafL`, each leaf linked to `spine1` .. `spineS`; links `h1-leaf1`,
    `leaf1-spine1`"""

    leaves: Annotated[int, whole(2, MAX_PORTS)]
    """switches that hosts hang on, 2 to 64"""
    spines: Annotated[int, whole(1, 32)]
    """switches above them, 1 to 32"""
    hosts_per_leaf: Annotated[int | tuple[int, ...], whole_or_list(1, MAX_PORTS)]
    """one number, or a list with one for each leaf: `[4, 2, 1]`. At most 1024 hosts in all"""
    oversubscription: Annotated[float | None, number_above_zero(1000)] = None
    """rate of a leaf's hosts over the rate of its uplinks: `4` on 4 hosts of 100Mbps and 2 spines gives uplinks of
    50Mbps"""
    multipath: Multipath = "flow"
    link: AllLinks = LinkShape()
    uplink: Uplink = _NOTHING
    links: SingleLinks = field(default_factory=dict)

    def check(self, at: At) -> None:
        """It must fit the plan of addresses, and say nothing twice."""
        here, counts = at / "hosts_per_leaf", self.hosts_per_leaf
        if isinstance(counts, tuple) and len(counts) != self.leaves:
            found = f"{len(counts)} numbers for {self.leaves} leaves"
            here.add("not one number for each leaf", found=found, allowed=f"a list of {self.leaves}, or one number")
        elif sum(self.counts) > MAX_RANKS:
            found = f"{sum(self.counts)} in {self.leaves} leaves"
            here.add("too many hosts", found=found, allowed=f"at most {MAX_RANKS} in all")
        if self.oversubscription is not None and self.uplink.rate_bps is not NOT_GIVEN:
            (at / "oversubscription").add(
                "the rate of the uplinks is given twice",
                found="oversubscription and uplink.rate",
                allowed="one of the two",
            )

    @property
    def counts(self) -> tuple[int, ...]:
        """Hosts of each leaf."""
        count = self.hosts_per_leaf
        return count if isinstance(count, tuple) else (count,) * self.leaves


@dataclass(frozen=True, slots=True)
class FatTree(Section):
    """k pods of k/2 edge and k/2 aggregation switches, k^3/4 hosts; links `h1-edge1`, `edge1-agg1`, `agg1-core1`"""

    k: Annotated[int, even(2, 16)]
    """even, 2 to 16: 2, 16, 54, 128, 250, 432, 686 or 1024 hosts"""
    multipath: Multipath = "flow"
    link: AllLinks = LinkShape()
    uplink: Uplink = _NOTHING
    core: Annotated[LinkChangesKey, Key(shown="as `uplink`")] = _NOTHING
    """what is different on links from aggregation to core"""
    links: SingleLinks = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MachineRacks(Section):
    """machines of several workers `h1` .. `hP`, each on a switch `mK` of its machine with one uplink to `s1`; links
    `h1-m1`, `m1-s1`"""

    machines: Annotated[int, whole(2, 32)]
    """2 to 32"""
    workers_per_machine: Annotated[int, whole(1, 32)]
    """1 to 32"""
    link: AllLinks = LinkShape()
    uplink: Uplink = _NOTHING
    links: SingleLinks = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GridTriangle(Section):
    """GRID's worked example: workers `w1` .. `w8` and server `ps` on a triangle of switches `s1` .. `s3`; links
    `w1-s1`, `ps-s3`, `s1-s3` ([routing](routing.md))"""

    link: AllLinks = LinkShape()
    server_link: Annotated[LinkChangesKey, Key(shown="as `link`")] = _NOTHING
    """what is different on the parameter server's link: `server_link: {rate: 300Mbps}`"""
    links: SingleLinks = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CustomNode(Section):
    """A node of a custom topology."""

    name: NodeNameKey
    """a letter, then `a-z`, `0-9`, at most 10 characters, not `world`"""
    role: Annotated[str, choice(names.NODE_ROLES)]
    """`host`, or for switches `switch`, `leaf`, `spine`, `edge`, `aggregation`, `core`, `machine`, `rack`, which differ
    in drawings only. Ranks follow the order of the hosts"""


_TWO_ENDS = "the names of two nodes, as [h1, s1]"


def _ends(value: Any) -> tuple[str, str]:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(name, str) for name in value):
        raise refuse("not two ends", _TWO_ENDS)
    return value[0], value[1]


@dataclass(frozen=True, slots=True)
class CustomLink(Section):
    """A link of a custom topology, named `END-END`, the host first."""

    shape: Annotated[LinkChangesKey, Key(flat=True)]
    ends: Annotated[
        tuple[str, str],
        Plain(_ends, list, {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}),
    ]
    """two nodes"""


@dataclass(frozen=True, slots=True)
class Custom(Section):
    """node by node, link by link ([below](#custom))"""

    nodes: Annotated[
        tuple[CustomNode | None, ...],
        ListOf(SectionType(CustomNode, "the node"), "not a list of nodes", "a list, as [{name: h1, role: host}, ...]"),
    ]
    """a list of `{name: ..., role: ...}`"""
    links: Annotated[
        tuple[CustomLink | None, ...],
        ListOf(SectionType(CustomLink, "the link"), "not a list of links", "a list, as [{ends: [h1, s1]}, ...]"),
    ]
    """a list: `ends`, and every key of `link` that is different on it"""
    link: AllLinks = LinkShape()
