"""The headlines, each with the setting of its paper, and what we decided where it is not known. Those of protocols are
in the folders of the protocols.

Marks of sources: (S) read in the paper or its abstract, (M) from memory of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from testbed.bench.contract import MeasuredProtocol
from testbed.bench.papers.claims import Exactly, GainPoint, Range
from testbed.bench.papers.direct import FRONTIERS, frontier_of_strategies
from testbed.bench.papers.headline import Contest, Headline, gains
from testbed.scenario.protocols.known import protocols
from testbed.sweeps.groups import PointGroup

__all__ = ["headlines"]


def _irn(groups: Sequence[PointGroup]) -> list[GainPoint]:
    """Average slowdown and average FCT."""
    pairs = (
        Contest("IRN without PFC", ("RoCE with PFC",), "no control"),
        Contest("IRN without PFC, DCQCN", ("RoCE with PFC, DCQCN",), "DCQCN"),
    )
    found = list[GainPoint]()
    for word, figure in (("slowdown", "rdma_flows.slowdown.average"), ("FCT", "rdma_flows.fct_s.average")):
        found += (GainPoint(f"{word}, {place.name}", place.gains) for place in gains(pairs, figure)(groups))
    return found


def _better_by(share: float) -> float:
    """Gain of something whose figure is lower by that share."""
    return 1 / (1 - share)


_OF_NO_PROTOCOL = (
    Headline(
        "irn", "R. Mittal et al., IRN, SIGCOMM 2018", "6 to 83 % better than RoCE with PFC (S)",
        "54 hosts, k = 6, 40 Gb/s, 2 us, 240 kB per port, threshold 220 kB, 30 to 90 % load (M)",
        "output queues; flows begin within 800 us, and count from 200 us on", "irn-against-pfc", _irn,
        Range(_better_by(0.06), _better_by(0.83)),
        variants=("RoCE with PFC", "IRN without PFC", "RoCE with PFC, DCQCN", "IRN without PFC, DCQCN"),
        quick=(("job.load", (0.7,)),),
    ),
    Headline(
        "tensoropt", "TensorOpt (FT)", "a frontier of memory and time; the cheapest strategy that fits (S)",
        "its cost model is not known", "ours; every strategy of AlexNet and VGG16 is priced, 8 devices, 10 Gbit/s", "",
        lambda groups: [], Exactly(dict.fromkeys(FRONTIERS, 1.0)),
        direct=frontier_of_strategies,
    ),
)  # fmt: skip


@cache
def headlines() -> tuple[Headline, ...]:
    """In the order of the table: by protocol, then those of no protocol."""
    known = (each for each in protocols() if isinstance(each, MeasuredProtocol))
    return (*(headline for protocol in known for headline in protocol.headlines()), *_OF_NO_PROTOCOL)
