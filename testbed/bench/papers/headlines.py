"""The headlines, each with the setting of its paper, and what we decided where it is not known.

Marks of sources: (S) read in the paper or its abstract, (M) from memory of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from testbed.bench.papers.claims import Exactly, GainPoint, Grows, NoFigure, Range, UpTo, Wins
from testbed.bench.papers.direct import FRONTIERS, GRID_RATES, credit, frontier_of_strategies, grid_rates
from testbed.bench.papers.headline import Contest, Headline, Measure, gains
from testbed.sweeps.groups import PointGroup

__all__ = ["HEADLINES"]

_NETREDUCE = "S. Liu et al., NetReduce, ASPLOS 2023"
_UNKNOWN = "only the abstract is known (S)"
_SIZE = "job.size"
_CNN = {"102228B": "resnet50", "244400B": "alexnet", "553428B": "vgg16"}
_TRANSFORMER = {"437928B": "bert-base", "497756B": "gpt2", "1340568B": "bert-large"}
"""model by its gradient, divided by 1000"""
_RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""communication of the ring / computation"""
_OURS = "8 hosts, 100 Mbit/s, gradients / 1000; computation does not overlap"


def _times(groups: Sequence[PointGroup], models: Mapping[str, str]) -> dict[str, tuple[float, float]]:
    """(NetReduce, ring) in s, by model, of the runs that are valid."""
    found: dict[str, dict[str, float]] = {}
    for group in groups:
        name, times = models.get(str(group.values[_SIZE])), group.numbers("jct_s")
        if name is not None and times:
            found.setdefault(name, {})[str(group.values["variant"])] = times[0]
    return {name: (each["NetReduce"], each["ring all-reduce"]) for name, each in found.items() if len(each) == 2}


def _training(models: Mapping[str, str]) -> Measure:
    def measure(groups: Sequence[PointGroup]) -> list[GainPoint]:
        times = _times(groups, models)
        return [
            GainPoint(f"{name}, ratio {ratio:g}", _gain_at(times[name], ratio) if name in times else (), exact=True)
            for name in models.values()
            for ratio in _RATIOS
        ]

    return measure


def _gain_at(times: tuple[float, float], ratio: float) -> tuple[float, ...]:
    netreduce, ring = times
    computing = ring / ratio
    return ((computing + ring) / (computing + netreduce),)


def _where(models: Mapping[str, str], wanted: float) -> Callable[[Sequence[PointGroup]], str]:
    """At which ratio of communication to computation the gain would be `wanted`."""

    def say(groups: Sequence[PointGroup]) -> str:
        found = []
        for name, (netreduce, ring) in _times(groups, models).items():
            left = 1 - wanted * netreduce / ring
            found.append(f"{name} {(wanted - 1) / left:.1f}" if left > 0 else f"{name} none")
        return f"{wanted:.2f} lies at a ratio of {', '.join(found)}" if found else ""

    return say


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


def _bounded(over: str, *peers: str) -> list[Contest]:
    """DLCP over a server or a ring, with each share that is dispensable."""
    return [Contest(f"DLCP over a {over}, {share} %", peers, f"{over} {share} %") for share in (1, 2, 5)]


def _why_bounded(groups: Sequence[PointGroup]) -> str:
    """What keeps the gain small, in figures of the same runs."""
    found = ["IRN resends within a round trip, and a server that streams sums uses both directions at once"]
    for contests, words in (
        (_bounded("ring", "ring"), "over go-back-N alone"),
        (_bounded("server", "whole flows"), "over the same server with whole flows"),
    ):
        known = [place.interval[1] for place in gains(contests, "jct_s")(groups) if place.gains]
        found += [f"{words} the best gain is {max(known):.2f}"] if known else []
    return "; ".join(found)


def _better_by(share: float) -> float:
    """Gain of something whose figure is lower by that share."""
    return 1 / (1 - share)


_EVOLUTION = ("ps", "ps+ina", "ps+multicast", "ring", "rabenseifner", "recursive_doubling", "sharded_ps")
HEADLINES = (
    Headline(
        "netreduce-cnn", _NETREDUCE, "training of CNNs, up to 1.7 times as fast as ring (S)", _UNKNOWN,
        f"{_OURS}; communication of the ring / computation from 0.25 to 8", "papers-training", _training(_CNN),
        UpTo(1.7), remark=_where(_CNN, 1.7), is_setting_known=False,
    ),
    Headline(
        "netreduce-nlp", _NETREDUCE, "training of transformers, up to 1.5 times as fast as ring (S)", _UNKNOWN,
        f"{_OURS}; communication of the ring / computation from 0.25 to 8", "papers-training", _training(_TRANSFORMER),
        UpTo(1.5), remark=_where(_TRANSFORMER, 1.5), is_setting_known=False,
    ),
    Headline(
        "netreduce-scale", _NETREDUCE, "the gain over a ring grows with scale, to 1024 (S)",
        "simulated, 32 to 1024 (S)",
        "packets, 4 leaves, 8 to 256 hosts, 10 Gbit/s, 256 kB", "papers-scale",
        gains([Contest("NetReduce", ("ring",))], "jct_s", exact=True), Grows(),
        quick=(("topology.hosts_per_leaf", (2, 4, 8)),),
    ),
    Headline(
        "hierarchical", _NETREDUCE, "PN beats flat ring and two levels past a bandwidth ratio (S)",
        "the condition: B_intra / B_inter > 2 (n - 1) P / (n (P - 2)) (S)",
        "2 machines of 4 workers, so a ratio of 2; measured at 2.25 and 4; 64 kB to 4 MB", "papers-hierarchical",
        gains([Contest("PN", ("FR",), "over FR"), Contest("PN", ("TA",), "over TA")], "jct_s", exact=True), Wins(),
        quick=(("job.size", ("64kB", "1MB")),),
    ),
    Headline(
        "credit", _NETREDUCE, "credit fills the link from a window on, and nothing overflows (S)",
        "closed form of the knee: round trip / time of a message (D)", "4 hosts, 100 Mbit/s, 1 ms per link",
        "papers-credit", credit, Exactly({f"window {window}": 1.0 for window in (1, 2, 3, 4, 5, 6, 8, 10)}),
    ),
    Headline(
        "esa", "H. Wang et al., ESA (arXiv 2022)", "average JCT up to 1.35 times as good as ATP (S)", _UNKNOWN,
        "two VGG16, two ResNet50; memory from SW/12 to 40 SW", "ina-mix-2-2",
        gains([Contest("esa", ("atp",))], "jobs.average_jct_s"), UpTo(1.35), variants=("atp", "esa"),
        is_setting_known=False,
        quick=(("switch.memory", (8, 96, 960)),),
    ),
    Headline(
        "grid", "GRID, INFOCOM 2023", "rates of three schemes, 1 : 2.43 : 3 (S)", "the example of the paper (S)",
        "a figure of the example contradicts itself: 2.4375", "", lambda groups: [],
        Exactly(GRID_RATES), direct=grid_rates,
    ),
    Headline(
        "irn", "R. Mittal et al., IRN, SIGCOMM 2018", "6 to 83 % better than RoCE with PFC (S)",
        "54 hosts, k = 6, 40 Gb/s, 2 us, 240 kB per port, threshold 220 kB, 30 to 90 % load (M)",
        "output queues; flows begin within 800 us, and count from 200 us on", "irn-against-pfc", _irn,
        Range(_better_by(0.06), _better_by(0.83)),
        variants=("RoCE with PFC", "IRN without PFC", "RoCE with PFC, DCQCN", "IRN without PFC, DCQCN"),
        quick=(("job.load", (0.7,)),),
    ),
    Headline(
        "dlcp", "DLCP, arXiv 2008.08445", "up to 84.3 % faster training than the best existing (S)", _UNKNOWN,
        "communication alone, 4 hosts, 20 Mbit/s; 1, 2 and 5 % dispensable; each link loses 0.1 to 1 %, a path has two",
        "papers-bounded", gains([*_bounded("server", "whole flows", "server"), *_bounded("ring", "ring", "ring, IRN")],
                                "jct_s"),
        UpTo(1.843), remark=_why_bounded, is_setting_known=False, quick=(("faults.loss.rate", ("1%",)),),
    ),
    Headline(
        "regenerating", "A. Dimakis et al., 2010", "repair traffic at the MSR and MBR points (S)",
        "M d / (k (d - k + 1)) and 2 M d / (k (2 d - k + 1)) (S)",
        "n = 6, k = 3, d = 5, so 1.8 and 2.4 times less than Reed-Solomon; bytes into the newcomer, with headers",
        "papers-repair",
        gains([Contest("MSR", ("RS",), "MSR"), Contest("MBR", ("RS",), "MBR")], "busiest_link.bytes", exact=True),
        Exactly({"MSR": 1.8, "MBR": 2.4}),
    ),
    Headline(
        "tensoropt", "TensorOpt (FT)", "a frontier of memory and time; the cheapest strategy that fits (S)",
        "its cost model is not known", "ours; every strategy of AlexNet and VGG16 is priced, 8 devices, 10 Gbit/s", "",
        lambda groups: [], Exactly(dict.fromkeys(FRONTIERS, 1.0)),
        direct=frontier_of_strategies,
    ),
    Headline(
        "evolution", "Network Evolution for DNNs, SysML 2018", "which optimisation of the network is best",
        _UNKNOWN, "star of 8 hosts, 400 kB: sums and multicast in the network, against seven others",
        "papers-evolution",
        gains([Contest("ps+ina+multicast", _EVOLUTION)], "jct_s", exact=True),
        NoFigure("the abstract names no method and no figure"),
    ),
)  # fmt: skip
"""in the order of the table"""
