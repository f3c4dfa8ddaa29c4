"""Headlines of NetReduce's paper. Marks of sources: (S) read in the paper or its abstract, (D) decided here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from testbed.bench.papers.claims import Exactly, GainPoint, Grows, UpTo
from testbed.bench.papers.headline import UNKNOWN, Contest, Headline, Measure, gains
from testbed.scenario.geometry import packet_bytes
from testbed.scenario.model import Transport
from testbed.sweeps.groups import PointGroup
from workloads.rc.transport import RELIABLE
from workloads.wire.envelope import ETHERNET
from workloads.wire.packet import EMPTY_FRAME_BYTES

__all__ = ["HEADLINES", "credit", "credit_s"]

_NETREDUCE = "S. Liu et al., NetReduce, ASPLOS 2023"
_SIZE_KEY = "job.size"
_CNN = {"102228B": "resnet50", "244400B": "alexnet", "553428B": "vgg16"}
_TRANSFORMER = {"437928B": "bert-base", "497756B": "gpt2", "1340568B": "bert-large"}
"""model by its gradient, divided by 1000"""
_RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""communication of the ring / computation"""
_OURS = "8 hosts, 100 Mbit/s, gradients / 1000; computation does not overlap"
_RATE_BPS, _DELAY_S, _SIZE, _MESSAGE_PACKETS, _MTU = 100e6, 1e-3, 2_000_000, 16, 1024
"""those of the sweep `papers-credit`"""
_ETHERNET, _ACK = ETHERNET.size, EMPTY_FRAME_BYTES + RELIABLE.part_bytes["AETH"]


def _times(groups: Sequence[PointGroup], models: Mapping[str, str]) -> dict[str, tuple[float, float]]:
    """(NetReduce, ring) in s, by model, of the runs that are valid."""
    found: dict[str, dict[str, float]] = {}
    for group in groups:
        name, times = models.get(str(group.values[_SIZE_KEY])), group.numbers("jct_s")
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


def credit_s(window: int) -> float:
    """Closed form of the time of `papers-credit` in s, for a window of so many messages (decided here). A message takes
    T on its link. Its credit returns after T, four link delays, the last packet's second link and two ACKs. Below the
    knee, a window of messages takes that long."""
    frame = (packet_bytes(Transport(path_mtu=_MTU))[0] + _ETHERNET) * 8 / _RATE_BPS
    message, around = _MESSAGE_PACKETS * frame, 4 * _DELAY_S + frame + 2 * _ACK * 8 / _RATE_BPS
    packets = -(-_SIZE // _MTU)
    return packets * frame * max(1.0, (message + around) / (window * message)) + around


def credit(groups: Sequence[PointGroup]) -> list[GainPoint]:
    """Closed form / measured time, by window."""
    return [
        GainPoint(f"window {window}", tuple(credit_s(window) / found for found in group.numbers("jct_s")), exact=True)
        for group in groups
        for window in [int(group.values["job.window_messages"])]
    ]


HEADLINES = (
    Headline(
        "netreduce-cnn", _NETREDUCE, "training of CNNs, up to 1.7 times as fast as ring (S)", UNKNOWN,
        f"{_OURS}; communication of the ring / computation from 0.25 to 8", "papers-training", _training(_CNN),
        UpTo(1.7), remark=_where(_CNN, 1.7), is_setting_known=False,
    ),
    Headline(
        "netreduce-nlp", _NETREDUCE, "training of transformers, up to 1.5 times as fast as ring (S)", UNKNOWN,
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
        "credit", _NETREDUCE, "credit fills the link from a window on, and nothing overflows (S)",
        "closed form of the knee: round trip / time of a message (D)", "4 hosts, 100 Mbit/s, 1 ms per link",
        "papers-credit", credit, Exactly({f"window {window}": 1.0 for window in (1, 2, 3, 4, 5, 6, 8, 10)}),
    ),
)  # fmt: skip
"""in the order of the table"""
