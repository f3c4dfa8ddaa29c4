"""Drawn runs of all-reduces that are schedules of transfers: hosts, sizes, recoveries, trouble on their links."""

from __future__ import annotations

from random import Random

from testbed.faults.model import Corrupt, Duplicate, Loss, PacketFault, Reorder
from testbed.scenario.job import Straggler
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from topologies import LinkShape, rack, spine_leaf

__all__ = ["drawn_schedule"]

_SHAPE = LinkShape(rate_bps=100_000_000, delay_ns=20_000)


def drawn_schedule(collective: str, seed: int) -> Scenario:
    """Retries do not end before trouble does: a fault strikes an attempt with a few percent, for 8 attempts."""
    draw = Random(f"{collective} {seed}")
    hosts = draw.randint(2, 7)
    topology = rack(hosts, _SHAPE) if draw.random() < 0.8 else spine_leaf([2, (hosts + 1) // 2], 2, _SHAPE)
    ranks = len(topology.hosts)
    links = tuple(link.name for link in topology.links)
    recovery = draw.choice(("gbn", "gbn", "irn", "irn-rack"))
    rate = draw.choice((0.01, 0.03, 0.06))
    kinds: tuple[PacketFault, ...] = (
        Loss("loss", links, rate=rate),
        Duplicate("twice", links, rate=rate, delay_ns=draw.choice((10_000, 200_000, 3_000_000))),
        Reorder("late", links, rate=rate, delay_ns=draw.choice((50_000, 400_000))),
        Corrupt("bits", links, rate=rate),
    )
    faults = tuple(draw.sample(kinds, draw.randint(0, 2)))
    elements = draw.choice((ranks, draw.randint(ranks, 60), draw.randint(60, 1_200), draw.randint(1_200, 6_000)))
    is_write = recovery != "gbn" or draw.random() < 0.6
    late = 0 if recovery != "gbn" or draw.random() < 0.8 else draw.randint(1, 400_000)
    return Scenario(
        "hunt", topology, _SHAPE, seed=seed, world="simulated", switch=SwitchOptions("forward"), faults=faults,
        transport=Transport(
            timeout_code=11, path_mtu=draw.choice((256, 256, 1024)), recovery=recovery, receive_late_ns=late,
            verb="write" if is_write else "send", start_psn=draw.choice((None, (1 << 24) - draw.randint(1, 40))),
        ),
        job=Job(
            collective=collective, size_bytes=4 * elements, iterations=draw.choice((1, 2, 3)),
            message_packets=draw.choice((1, 2, 8)), dtype=draw.choice(("float32", "int32")),
            op=draw.choice(("sum", "sum", "sum", "max", "xor")), workload=draw.choice(("synthetic", "extreme")),
            straggler=Straggler(draw.randrange(ranks), draw.randint(1, 4_000_000)) if draw.random() < 0.2 else None,
        ),
        time_limit_ns=60_000_000_000,
    )  # fmt: skip
