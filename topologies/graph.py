"""A topology as a pure graph: nodes, links, roles and rates; no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["DIRECTIONS", "RESERVE", "Direction", "Link", "LinkShape", "Node", "RedShape", "Role", "Topology"]

RESERVE = 16
"""headers in the reserve of a queue that trims, for each packet of the queue"""


class Role(StrEnum):
    HOST = "host"
    SWITCH = "switch"


class Direction(StrEnum):
    """Along a link: `up` from its first end to its second (host to switch, leaf to spine), `down` the other way."""

    UP = "up"
    DOWN = "down"


DIRECTIONS = (Direction.UP, Direction.DOWN)


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    """name of at most 10 characters, so that interface names stay below 16"""
    role: Role
    mac: bytes
    """6 bytes; of a switch: all zeros (its ports have no address of their own)"""
    ip: bytes
    """4 bytes; of a switch: empty"""
    part: str = ""
    """what a switch is in its fabric, for people: leaf, spine, edge, aggregation, core, commodity, accelerator,
    machine, rack; empty: just a switch. Of a host: server, where it is no worker"""


@dataclass(frozen=True, slots=True)
class RedShape:
    """Marking by probability, as RED (S. Floyd and V. Jacobson, 1993) with the present length of the queue in place of
    its average, as DCQCN uses it."""

    min_packets: int
    """K_min: no frame is marked while fewer wait"""
    max_packets: int
    """K_max: each frame is marked while so many wait"""
    share: float = 0.01
    """P_max: share of frames that are marked just below K_max; it rises from 0 at K_min in a straight line"""

    def chance(self, waiting: int) -> float:
        """Share of the frames that come while `waiting` wait that get CE."""
        if waiting >= self.max_packets:
            return 1.0
        return max(0.0, self.share * (waiting - self.min_packets) / (self.max_packets - self.min_packets))


@dataclass(frozen=True, slots=True)
class LinkShape:
    """What a link does to every frame, the same in both directions."""

    rate_bps: int = 100_000_000
    """bits of Ethernet frame (14-byte header included; preamble, gap and FCS not) per second"""
    delay_ns: int = 0
    jitter_ns: int = 0
    """uniform on -jitter..+jitter around the delay; never reorders"""
    mtu: int = 1500
    """largest IP packet, bytes"""
    queue_packets: int = 1000
    """drop-tail limit of each direction's queue"""
    ecn_threshold_packets: int | None = None
    """number of waiting frames from which a frame that enters the queue gets CE, if its sender is ECN-capable; None:
    the queue never marks. Marking is at enqueue, as DCTCP's (RFC 8257, section 3.1)"""
    queue_full: str = "drop"
    """what becomes of a frame that finds the queue full: drop; trim, RoCE data is cut to its headers, which go on
    (`workloads.wire.trimming`)"""
    priority: str = "none"
    """order in which a switch serves what waits. "none": as it came. "layers": strictly by layer class
    (`workloads.wire.dscp`). "weighted": layer classes by `weights`. "fair": each flow gets the same share. Each class
    or flow then has a queue of its own, of `queue_packets`, that marks and drops by itself"""
    drop_low_above_packets: int | None = None
    """a switch drops a frame of the low class (`workloads.wire.dscp`) that comes while at least that many wait; None:
    it does not ask for classes"""
    red: RedShape | None = None
    """marking by probability in place of the threshold"""
    weights: tuple[int, ...] | None = None
    """by layer class, of "weighted": its share of what strict classes leave; 0 for a strict class"""

    @property
    def serves_classes(self) -> bool:
        """Whether each layer class has a queue of its own."""
        return self.priority in ("layers", "weighted")

    @property
    def knows_classes(self) -> bool:
        return self.priority != "none" or self.drop_low_above_packets is not None

    @property
    def marks(self) -> bool:
        """Whether its queues set CE."""
        return self.ecn_threshold_packets is not None or self.red is not None

    @property
    def marks_from(self) -> int | None:
        """Waiting frames from which a frame may get CE; None: none ever does."""
        return self.ecn_threshold_packets if self.red is None else self.red.min_packets

    @property
    def trims(self) -> bool:
        return self.queue_full == "trim"

    @property
    def reserve_packets(self) -> int:
        """Headers and answers that may wait in addition to a full queue of a switch that trims: about as many bytes."""
        return RESERVE * self.queue_packets if self.trims else 0


@dataclass(frozen=True, slots=True)
class Link:
    """Between two ports. `name` is `{a}-{b}`, of the n-th of parallel links `{a}-{b}-{n}`. Port numbers count from 0 at
    each node in the order of the links."""

    name: str
    a: str
    a_port: int
    b: str
    b_port: int
    shape: LinkShape


@dataclass(frozen=True, slots=True)
class Topology:
    kind: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    multipath: str = "flow"
    """path of a frame among several shortest ones: flow, that of its flow; spray, one of its own"""
    _found: list[_Index] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def _index(self) -> _Index:
        if not self._found:
            self._found.append(_Index(self))
        return self._found[0]

    def node(self, name: str) -> Node:
        """Raises KeyError when there is none."""
        return self._index.nodes[name]

    def link(self, name: str) -> Link:
        """Raises KeyError when there is none."""
        return self._index.links[name]

    @property
    def trims(self) -> bool:
        """Whether a queue of any link does."""
        return self._index.trims

    @property
    def hosts(self) -> tuple[Node, ...]:
        return self._index.hosts

    @property
    def switches(self) -> tuple[Node, ...]:
        return self._index.switches

    def ports(self, node: str) -> Iterator[tuple[int, Link, Direction]]:
        """(port, link, direction of a frame that ENTERS `node` by it)."""
        return iter(self._index.ports.get(node, ()))


class _Index:
    """What is found by name in a graph of thousands of nodes, whose set-up would else take quadratic time. The first
    of two equal names counts."""

    def __init__(self, topology: Topology) -> None:
        self.nodes = {node.name: node for node in reversed(topology.nodes)}
        self.links = {link.name: link for link in reversed(topology.links)}
        self.trims = any(link.shape.trims for link in topology.links)
        self.hosts = tuple(node for node in topology.nodes if node.role is Role.HOST)
        self.switches = tuple(node for node in topology.nodes if node.role is Role.SWITCH)
        self.ports: dict[str, list[tuple[int, Link, Direction]]] = {}
        for link in topology.links:
            self.ports.setdefault(link.a, []).append((link.a_port, link, Direction.DOWN))
            if link.b != link.a:
                self.ports.setdefault(link.b, []).append((link.b_port, link, Direction.UP))
