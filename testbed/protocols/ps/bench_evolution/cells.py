"""Cells of the matrix: a scheme (row), and where it runs (column); each as a scenario.

Whole models are too many packets, so sizes and rates are divided by one number. That leaves all times but those of
single packets as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from testbed.protocols.ps.keys import PsKeys
from testbed.scenario.keys.job import Straggler
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.named import protocol_names
from topologies import LinkShape, Topology, fat_tree, rack, spine_leaf

__all__ = [
    "COMPUTE_NS",
    "FABRICS",
    "MODELS",
    "RACK_MODEL",
    "ROWS",
    "SKEWS",
    "Cell",
    "EvolutionFabric",
    "EvolutionModel",
    "Scheme",
    "cells",
]

_RATE_BPS = 10_000_000_000
"""rate of hosts' links, before it is divided"""
_DELAY_NS = 1_250
"""delay of each link: four of them are the alpha of 5 us"""
_QUEUE = 1_000_000
_ELEMENT, _PATH_MTU = 4, 1024
_SECOND = 1_000_000_000
_MESSAGE_PACKETS = 16
COMPUTE_NS = 100_000_000
"""time of a forward and a backward pass, for all models; not measured, but added to every cell"""


@dataclass(frozen=True, slots=True)
class Scheme:
    name: str
    protocol: str
    cost: str
    """its closed form (`workloads.costs`)"""
    keys: Any = None
    """`Job.own`"""
    leaving: int | None = None
    """gradients that leave a rack of four workers; None: another table has it"""
    entering: int | None = None

    @property
    def has_server(self) -> bool:
        return protocol_of(self.protocol).servers() > 0

    @property
    def in_datagrams(self) -> bool:
        return not protocol_of(self.protocol).repairs_losses()


_SCHEMES = (
    Scheme("ps", "ps", "ps", PsKeys(streaming=False), 4, 4),
    Scheme("ps+multicast", "ps", "ps_multicast", PsKeys(multicast=True, streaming=False), 4, 1),
    Scheme("ps+ina", "ps", "ps_ina_up", PsKeys(aggregation=True, streaming=False), 1, 4),
    Scheme("ps+ina+multicast", "ps", "ina", PsKeys(aggregation=True, multicast=True), 1, 1),
    Scheme("ring", "ring", "ring"),
    Scheme("recursive_doubling", "recursive_doubling", "recursive_doubling"),
    Scheme("rabenseifner", "rabenseifner", "rabenseifner"),
    Scheme("sharded_ps", "sharded_ps", "sharded_ps"),
)
ROWS: Sequence[Scheme] = tuple(scheme for scheme in _SCHEMES if scheme.protocol in protocol_names())
"""schemes; the closed forms count a server that waits for the whole gradient before it sends it back, except for the
last of the four, where it streams"""


@dataclass(frozen=True, slots=True)
class EvolutionModel:
    name: str
    elements: int
    scale: int
    """divisor of its size and of all rates: gradients then have about 500 packets"""

    @property
    def size_bytes(self) -> int:
        return self.elements // self.scale * _ELEMENT

    @property
    def rate_bps(self) -> int:
        return _RATE_BPS // self.scale


MODELS = (
    EvolutionModel("alexnet", 61_100_840, 500),
    EvolutionModel("vgg16", 138_357_544, 1000),
    EvolutionModel("resnet50", 25_557_032, 250),
)


RACK_MODEL = EvolutionModel("800kb", 204_800_000, 1000)
"""small enough for the emulated world, where echo requests by which a run looks at its links add to what is counted"""


@dataclass(frozen=True, slots=True)
class EvolutionFabric:
    name: str
    racks: int
    per_rack: int
    """workers"""
    oversubscription: int = 1
    """oversubscription of the leaves' uplinks; the server's leaf has uplinks like the others"""
    pods: int = 0
    """pods of a fat tree, five of whose eight edge switches have workers; 0: a star or leaves and spines"""

    @property
    def workers(self) -> int:
        return self.racks * self.per_rack

    def build(self, shape: LinkShape, *, server_apart: bool) -> tuple[Topology, list[list[str]], str]:
        """The network, the workers' hosts by rack, and the server's host: at the first rack's switch, or at one
        without workers."""
        size, hosts = self.per_rack, [f"h{number}" for number in range(1, 100)]
        if self.pods:
            # Two hosts at each edge switch; the first rack has one worker, so that the server has a place there.
            each = [["h1"], *(hosts[start : start + 2] for start in range(2, self.workers, 2)), [hosts[self.workers]]]
            return fat_tree(self.pods, shape), each, "h16" if server_apart else "h2"
        if self.racks == 1:
            return rack(size + 1, shape), [hosts[:size]], f"h{size + 1}"
        uplink = LinkShape(shape.rate_bps // self.oversubscription, shape.delay_ns, queue_packets=shape.queue_packets)
        counts = [size] * self.racks + [1] if server_apart else [size + 1] + [size] * (self.racks - 1)
        starts = [sum(counts[:leaf]) for leaf in range(self.racks)]
        each = [hosts[start : start + size] for start in starts]
        server = f"h{sum(counts)}" if server_apart else f"h{size + 1}"
        return spine_leaf(counts, size, shape, uplink), each, server


FABRICS = (
    EvolutionFabric("star", 1, 8),
    EvolutionFabric("leaf-spine 1:1", 4, 4),
    EvolutionFabric("leaf-spine 2:1", 4, 4, 2),
    EvolutionFabric("leaf-spine 4:1", 4, 4, 4),
    EvolutionFabric("fat tree", 4, 2, pods=4),
)
SKEWS = (0, 10, 50)
"""late start of one worker, in per cent of the computing time"""


@dataclass(frozen=True, slots=True)
class Cell:
    scheme: Scheme
    fabric: EvolutionFabric
    model: EvolutionModel
    server_apart: bool
    """its host is at a switch without workers"""
    shuffled: bool
    """ranks lie over the racks at random"""
    skew: int
    """skew in per cent"""

    @property
    def column(self) -> tuple[str, str, str, str, str]:
        """Words for its place in the matrix: fabric, server, ranks, skew, model."""
        one = self.fabric.racks == 1
        server = "-" if one else "elsewhere" if self.server_apart else "rack"
        ranks = "-" if one else "shuffled" if self.shuffled else "contiguous"
        return self.fabric.name, server, ranks, f"{self.skew} %", self.model.name

    def measured(self) -> Cell:
        """The cell whose run gives its figures: a server does not care for ranks, and who has none not for where it
        would be."""
        return Cell(
            self.scheme, self.fabric, self.model,
            self.server_apart if self.scheme.has_server else False,
            False if self.scheme.has_server else self.shuffled,
            self.skew,
        )  # fmt: skip

    def scenario(self, world: str = "simulated") -> Scenario:
        shape = LinkShape(self.model.rate_bps, _DELAY_NS, queue_packets=_QUEUE)
        topology, racks, server = self.fabric.build(shape, server_apart=self.server_apart)
        if self.scheme.in_datagrams and len(topology.switches) > 1:
            # Bitmaps need no order, so that packets may take any of the equal paths; connections go back N.
            topology = Topology(topology.kind, topology.nodes, topology.links, "spray")
        hosts = [host for each in racks for host in each]
        if self.shuffled:
            Random(1).shuffle(hosts)
        blocks = -(-self.model.size_bytes // _PATH_MTU)
        protocol = protocol_of(self.scheme.protocol)
        served = self.scheme.has_server
        straggler = Straggler(len(hosts) - 1, COMPUTE_NS * self.skew // 100) if self.skew else None
        job = Job(
            protocol=self.scheme.protocol, hosts=tuple(hosts), size_bytes=self.model.size_bytes, dtype="int32",
            straggler=straggler, server=server if served else "", window_packets=min(blocks, 65535),
            message_packets=_MESSAGE_PACKETS, window_messages=-(-blocks // _MESSAGE_PACKETS) + 1, hello=False,
            own=self.scheme.keys,
        )  # fmt: skip
        return Scenario(
            name="evolution",
            topology=topology,
            link=shape,
            world=world,
            transport=Transport(path_mtu=_PATH_MTU, aimd=False, rto_ns=60 * _SECOND, timeout_code=26),
            switch=SwitchOptions(program=protocol.programs[0], memory=max(1, blocks)),
            job=job,
            capture=False,
            time_limit_ns=600 * _SECOND,
        )


def cells(rows: Sequence[Scheme] = ROWS, *, quick: bool = False) -> Iterator[Cell]:
    """Column by column. `quick`: without skew, of one model."""
    for model in MODELS[-1:] if quick else MODELS:
        for fabric in FABRICS:
            many = (False, True) if fabric.racks > 1 else (False,)
            for skew in SKEWS[:1] if quick else SKEWS:
                for apart in many:
                    for shuffled in many:
                        for scheme in rows:
                            yield Cell(scheme, fabric, model, apart, shuffled, skew)
