"""Histories as an older version wrote them: digests that a new implementation of the same rules must meet.

`python -m tests.support.golden_histories` writes those that are missing; what is there stays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from testbed.history.codec import encode_records
from testbed.plan import make_plan
from testbed.scenario.loader import load_scenario
from testbed.worlds.simulated.world import Simulation

__all__ = ["FAMILIES", "known", "runs", "seen"]

_FOLDER = Path(__file__).resolve().parents[1] / "data" / "histories"
_LOSS = "faults=[{kind: loss, name: loss, links: all, direction: both, rate: %s}]"
_FAULTS = (
    "faults=["
    "{kind: loss, name: loss, links: all, direction: both, rate: 3%%},"
    "{kind: duplicate, name: twice, links: [h1-s1, h2-s1], direction: both, rate: 5%%, delay: 9ms},"
    "{kind: reorder, name: late, links: [h2-s1], direction: both, rate: 5%%, delay: 7ms},"
    "{kind: delay, name: slow, links: [h3-s1], direction: both, rate: 10%%, delay: 2ms, from: 20ms, until: 60ms},"
    "{kind: burst, name: burst, links: [h4-s1], direction: down, rate: 1%%, recover: 30%%},"
    "{kind: %s}]"
)
_MORE = {
    "kill": "kill, name: crash, node: h2, from: 100ms, until: 150ms",
    "switch": "kill, name: crash, node: s1, from: 100ms, until: 150ms",
    "pause": "pause, name: nap, node: s1, from: 100ms, until: 150ms",
    "host": "pause, name: nap, node: h3, from: 100ms, until: 150ms",
    "rate": "rate_change, name: jam, links: [h1-s1], direction: both, rate: 1Mbps, from: 50ms, until: 150ms",
    "down": "link_down, name: cut, links: [h1-s1], direction: both, from: 50ms, until: 150ms",
    "attempt": "drop, name: first, links: [h1-s1], direction: both, match: {attempt: 1}, rate: 10%",
}
_FAST = ("topology.link.rate=10Gbps", "switch.memory=256", "job.window_packets=128")

Cases = Mapping[str, tuple[str, tuple[str, ...], tuple[int, ...]]]
"""by name: scenario, overrides, seeds"""
_SWITCHML: Cases = {
    "switchml": ("switchml", (), (1, 2, 3)),
    "lossy": ("switchml-lossy", (), (1, 2, 3)),
    "two-jobs": ("switchml-two-jobs", (), (1, 2, 3)),
    "uc": ("switchml-uc", (), (1, 2, 3)),
    "uc-lossy": ("switchml-uc-lossy", (), (1, 2, 3)),
    "jobs-mix": ("jobs-mix", (), (1,)),
    "traced": ("switchml-lossy", ("trace=true",), (1, 2)),
    "uc-traced": ("switchml-uc-lossy", ("trace=true", "job.size=50kB"), (1,)),
    "int32": ("switchml-lossy", ("job.dtype=int32",), (1, 2)),
    "clocks": ("switchml-lossy", ("clocks={offset: 500ms, drift: 100ppm}",), (1, 2)),
    "marked": ("switchml-lossy", ("topology.link.ecn_threshold=2", "topology.link.queue=8"), (1, 2)),
    "short-queue": ("switchml-lossy", ("topology.link.queue=3", "topology.hosts=8"), (1, 2)),
    "delayed": ("switchml-lossy", ("topology.link.delay=300us", "topology.link.jitter=20us"), (1, 2)),
    "trimmed": ("switchml-lossy", ("job.size=776B", "job.iterations=5"), (1, 2)),
    "one": ("switchml-lossy", ("job.size=4B", "topology.hosts=2"), (1,)),
    "blocks-odd": ("switchml-lossy", ("job.size=100004B", "transport.path_mtu=256"), (1, 2)),
    "hosts-32": ("switchml-lossy", ("topology.hosts=32", "job.size=20kB"), (1,)),
    "hosts-8-fast": ("switchml-lossy", (*_FAST, "topology.hosts=8", "job.size=1MB", _LOSS % "1%"), (1, 2)),
    "hosts-8-clean": ("switchml", (*_FAST, "topology.hosts=8", "job.size=1MB"), (1,)),
    "heavy-loss": ("switchml-lossy", (_LOSS % "20%", "job.size=60kB"), (1, 2)),
    **{f"faults-{name}": ("switchml-lossy", (_FAULTS % more,), (1, 2)) for name, more in _MORE.items()},
    "uc-faults": ("switchml-uc-lossy", (_FAULTS % _MORE["attempt"],), (1,)),
}

_SMALL = ("job.size=100kB",)
_SERVER = {
    **_MORE,
    "server": "kill, name: crash, node: h5, from: 100ms, until: 150ms",
    "server-nap": "pause, name: nap, node: h5, from: 100ms, until: 150ms",
}
_ATP: Cases = {
    "atp": ("atp", _SMALL, (1, 2)),
    "atp-lossy": ("atp-lossy", _SMALL, (1, 2, 3)),
    "atp-restarted": ("atp-server-restarted", ("job.size=200kB",), (1, 2, 3)),
    "atp-two-jobs": ("atp-two-jobs", _SMALL, (1, 2)),
    "atp-two-lossy": ("atp-two-jobs", (*_SMALL, _LOSS % "2%"), (1, 2)),
    "esa": ("esa", _SMALL, (1, 2)),
    "esa-lossy": ("esa-lossy", _SMALL, (1, 2, 3)),
    "esa-scarce": ("esa-scarce", _SMALL, (1, 2)),
    "esa-scarce-lossy": ("esa-scarce", (*_SMALL, _LOSS % "2%"), (1, 2)),
    "esa-layers": ("esa-scarce", (*_SMALL, "job.priority=esa-default", "switch.knobs={age: shift1}"), (1,)),
    "jobs-8": ("jobs-8", ("job.size=20kB",), (1,)),
    "jobs-mix": ("jobs-mix", (), (2,)),
    "atp-traced": ("atp-lossy", (*_SMALL, "trace=true"), (1,)),
    "esa-traced": ("esa-scarce", (*_SMALL, "trace=true", _LOSS % "1%"), (1,)),
    "atp-int32": ("atp-lossy", (*_SMALL, "job.dtype=int32"), (1, 2)),
    "esa-int32sat": ("esa-lossy", (*_SMALL, "job.dtype=int32sat"), (1,)),
    "atp-fixed": ("atp-lossy", (*_SMALL, "job.quantisation=fixed:1e4"), (1,)),
    "atp-clocks": ("atp-lossy", (*_SMALL, "clocks={offset: 500ms, drift: 100ppm}"), (1,)),
    "atp-marked": ("atp-lossy", (*_SMALL, "topology.link.ecn_threshold=2", "topology.link.queue=8"), (1, 2)),
    "atp-short-queue": ("atp-lossy", (*_SMALL, "topology.link.queue=3", "topology.hosts=7"), (1,)),
    "atp-delayed": ("atp-lossy", (*_SMALL, "topology.link.delay=300us", "topology.link.jitter=20us"), (1,)),
    "atp-trimmed": ("atp-lossy", ("job.size=776B", "job.iterations=5"), (1, 2)),
    "atp-one": ("atp-lossy", ("job.size=4B", "topology.hosts=3"), (1,)),
    "esa-odd": ("esa-lossy", ("job.size=50004B", "transport.path_mtu=256"), (1,)),
    "atp-hosts-30": ("atp-lossy", ("topology.hosts=31", "job.size=10kB"), (1,)),
    "atp-hosts-32": ("atp-server-restarted", ("topology.hosts=33", "job.size=10kB"), (1,)),
    "esa-hosts-32": ("esa-lossy", ("topology.hosts=33", "job.size=10kB"), (1,)),
    "atp-fast": ("atp-lossy", (*_FAST, "topology.hosts=9", "job.size=100kB", _LOSS % "1%", "transport.rto=1ms"), (1,)),
    "atp-heavy": ("atp-lossy", (_LOSS % "15%", "job.size=40kB"), (1,)),
    "esa-heavy": ("esa-lossy", (_LOSS % "15%", "job.size=40kB"), (1,)),
    **{f"atp-faults-{name}": ("atp-lossy", (*_SMALL, _FAULTS % more), (1,)) for name, more in _SERVER.items()},
    **{f"esa-faults-{name}": ("esa-lossy", (*_SMALL, _FAULTS % more), (1,)) for name, more in _SERVER.items()},
    "esa-strategy": ("strategy-esa", (), (1,)),
    "mixed": ("mixed-atp-rabenseifner", _SMALL, (1,)),
    "ps-lossy": ("ps-lossy", _SMALL, (1, 2)),
    "ps-fat-tree-lossy": ("ps-fat-tree-lossy", ("job.size=50kB",), (1,)),
    "ps-core-restarted": ("ps-core-restarted", ("job.size=50kB",), (1,)),
    "grid-lossy": ("grid-lossy", ("job.size=50kB",), (1, 2)),
    "grid-atp": ("grid-atp", ("job.size=50kB",), (1,)),
    "grid-link-down": ("grid-link-down", ("job.size=100kB",), (1,)),
}
"""ATP and ESA, and whose workers are made of theirs"""
_GRID_SIZE = ("job.size=50kB",)
_TRIANGLE = {
    "kill": "kill, name: crash, node: w2, from: 40ms, until: 60ms",
    "switch": "kill, name: crash, node: s1, from: 40ms, until: 60ms",
    "server": "kill, name: crash, node: ps, from: 40ms, until: 60ms",
    "pause": "pause, name: nap, node: s2, from: 40ms, until: 60ms",
    "host": "pause, name: nap, node: w3, from: 40ms, until: 60ms",
    "rate": "rate_change, name: jam, links: [w1-s1], direction: both, rate: 1Mbps, from: 20ms, until: 60ms",
    "down": "link_down, name: cut, links: [s1-s2], direction: both, from: 20ms",
    "attempt": "drop, name: first, links: [w1-s1], direction: both, match: {attempt: 1}, rate: 10%",
}
_AROUND = (
    _FAULTS.replace("h1-s1, h2-s1", "w1-s1, s1-s3")
    .replace("h2-s1", "s2-s3")
    .replace("h3-s1", "ps-s3")
    .replace("h4", "w4")
)
_CUT = (
    "faults=[{kind: link_down, name: l1, links: [s1-s3], direction: both, from: 200ms},"
    "{kind: loss, name: loss, links: all, direction: both, rate: 1%}]"
)
_PS_MORE = {name: more for name, more in _SERVER.items() if name in ("kill", "switch", "pause", "server", "attempt")}
_GRID: Cases = {
    "grid": ("grid", ("job.size=100kB",), (1,)),
    "grid-lossy": ("grid-lossy", _GRID_SIZE, (3, 4)),
    "grid-atp": ("grid-atp", _GRID_SIZE, (2,)),
    "grid-goat": ("grid-goat", _GRID_SIZE, (1, 2)),
    "grid-goat-lossy": ("grid-goat", (*_GRID_SIZE, _LOSS % "3%"), (1, 2)),
    "grid-geryon": ("grid-geryon", _GRID_SIZE, (1,)),
    "grid-geryon-lossy": ("grid-geryon", (*_GRID_SIZE, _LOSS % "3%"), (1,)),
    "grid-openflow": ("grid-openflow", _GRID_SIZE, (1,)),
    "grid-openflow-lossy": ("grid-openflow-lossy", _GRID_SIZE, (1, 2)),
    "grid-link-down": ("grid-link-down", ("job.size=1MB",), (1,)),
    "grid-link-down-lossy": ("grid-link-down", ("job.size=1MB", "trace=true", _CUT), (1, 2)),
    "grid-atp-lossy": ("grid-atp", (*_GRID_SIZE, _LOSS % "2%"), (1, 2)),
    "grid-few-slots": ("grid-lossy", (*_GRID_SIZE, "switch.memory=4"), (1, 2)),
    "grid-to-ps": ("grid-lossy", (*_GRID_SIZE, "switch.memory=4", "routing.on_collision=to_ps"), (1, 2)),
    "grid-little-capacity": ("grid-lossy", (*_GRID_SIZE, "routing.capacity=20Mbps"), (1, 2)),
    "grid-traced": ("grid-lossy", (*_GRID_SIZE, "trace=true", "switch.memory=8"), (1, 2)),
    "grid-int32sat": ("grid-lossy", (*_GRID_SIZE, "job.dtype=int32sat"), (1,)),
    "grid-int32": ("grid-lossy", (*_GRID_SIZE, "job.dtype=int32"), (1,)),
    "grid-clocks": ("grid-atp", (*_GRID_SIZE, "clocks={offset: 500ms, drift: 100ppm}", _LOSS % "1%"), (1,)),
    "grid-marked": ("grid-lossy", (*_GRID_SIZE, "topology.link.ecn_threshold=2", "topology.link.queue=8"), (1, 2)),
    "grid-short-queue": ("grid-lossy", (*_GRID_SIZE, "topology.link.queue=3"), (1,)),
    "grid-delayed": ("grid-lossy", (*_GRID_SIZE, "topology.link.delay=300us", "topology.link.jitter=20us"), (1,)),
    "grid-trimmed": ("grid-lossy", ("job.size=776B", "job.iterations=5"), (1, 2)),
    "grid-one": ("grid-lossy", ("job.size=4B",), (1,)),
    "grid-odd": ("grid-lossy", ("job.size=50004B", "transport.path_mtu=256"), (1,)),
    "grid-heavy": ("grid-lossy", (_LOSS % "15%", "job.size=20kB"), (1, 2)),
    "grid-sampled": ("grid-lossy", (*_GRID_SIZE, "routing.sample=3ms"), (1,)),
    **{f"grid-faults-{name}": ("grid-lossy", (*_GRID_SIZE, _AROUND % more), (1,)) for name, more in _TRIANGLE.items()},
    "ps": ("ps", _SMALL, (1,)),
    "ps-plain": ("ps-plain", _SMALL, (1,)),
    "ps-fat-tree": ("ps-fat-tree", (), (1,)),
    "ps-switch-restarted": ("ps-switch-restarted", _SMALL, (1, 2)),
    "ps-link-down": ("ps-link-down", _SMALL, (1,)),
    "ps-traced": ("ps-lossy", (*_SMALL, "trace=true", "switch.memory=8"), (1,)),
    "ps-tree-traced": ("ps-fat-tree-lossy", ("job.size=20kB", "trace=true", "switch.memory=8"), (1, 2)),
    "ps-int32sat": ("ps-lossy", (*_SMALL, "job.dtype=int32sat"), (1,)),
    "ps-no-multicast": ("ps-lossy", (*_SMALL, "job.multicast=false"), (1,)),
    "ps-no-aggregation": ("ps-lossy", (*_SMALL, "job.aggregation=false"), (1,)),
    "ps-trimmed": ("ps-lossy", ("job.size=776B", "job.iterations=5"), (1,)),
    "ps-heavy": ("ps-lossy", (_LOSS % "15%", "job.size=40kB"), (1,)),
    **{f"ps-faults-{name}": ("ps-lossy", (*_SMALL, _FAULTS % more), (1,)) for name, more in _PS_MORE.items()},
}
"""GRID, whose workers and switches are its own, and PS"""
_THRICE = ("job.iterations=3",)
_BOUNDED = {name: more.replace("h5", "h4") for name, more in _SERVER.items()}
_BUILT_IN = {
    "dlcp": ("", "-data-lost", "-result-lost", "-stop-lost", "-duplicate", "-reorder", "-sprayed", "-classes"),
    "repair": ("", "-data-lost", "-sum-lost", "-ack-lost", "-newcomer-ack-lost", "-partial-lost", "-spine-ack-lost",
               "-duplicate", "-reorder"),
}  # fmt: skip
_NEWCOMER = {
    name: _FAULTS % more for name, more in {**_SERVER, "donor": _MORE["kill"].replace("150ms", "110ms")}.items()
}
_DLCP: Cases = {
    **{f"dlcp{more}": (f"dlcp{more}", (), (1,)) for more in _BUILT_IN["dlcp"]},
    "dlcp-lossy": ("dlcp-lossy", (), (1, 2, 3)),
    "dlcp-ina": ("dlcp-ina", (), (1,)),
    "dlcp-ina-lossy": ("dlcp-ina-lossy", (), (1, 2, 3)),
    "dlcp-ina-racks": ("dlcp-ina", (_LOSS % "3%",), (1, 2)),
    "dlcp-ring": ("dlcp-ring", (), (1,)),
    "dlcp-ring-lossy": ("dlcp-ring-lossy", (), (1, 2, 3)),
    "dlcp-two-jobs": (
        "dlcp-lossy",
        ("topology.hosts=8", "jobs=[{name: a, hosts: [h1, h2, h3, h4]}, {name: b, hosts: [h5, h6, h7]}]"),
        (1, 2),
    ),
    "dlcp-ina-two-jobs": (
        "dlcp-ina-lossy",
        ("topology.hosts=8", "jobs=[{name: a, hosts: [h1, h2, h3, h4]}, {name: b, hosts: [h5, h6, h7]}]"),
        (1, 2),
    ),
    "dlcp-whole": ("dlcp-lossy", ("job.loss_bound=0",), (1, 2)),
    "dlcp-half": ("dlcp-lossy", ("job.loss_bound=50%", "job.important=10%"), (1,)),
    "dlcp-traced": ("dlcp-ina-lossy", ("trace=true",), (1,)),
    "dlcp-int32": ("dlcp-lossy", ("job.dtype=int32",), (1,)),
    "dlcp-int32sat": ("dlcp-lossy", ("job.dtype=int32sat",), (1,)),
    "dlcp-ina-int32": ("dlcp-ina-lossy", ("job.dtype=int32",), (1,)),
    "dlcp-ring-int32": ("dlcp-ring-lossy", ("job.dtype=int32",), (1,)),
    "dlcp-clocks": ("dlcp-lossy", ("clocks={offset: 500ms, drift: 100ppm}",), (1,)),
    "dlcp-ina-clocks": ("dlcp-ina-lossy", ("clocks={offset: 500ms, drift: 100ppm}",), (1,)),
    "dlcp-marked": ("dlcp-lossy", ("topology.link.ecn_threshold=2", "topology.link.queue=8"), (1,)),
    "dlcp-short-queue": ("dlcp-lossy", ("topology.link.queue=3", "topology.hosts=7"), (1,)),
    "dlcp-ina-few-slots": ("dlcp-ina-lossy", ("switch.memory=2",), (1, 2)),
    "dlcp-delayed": ("dlcp-lossy", ("topology.link.delay=300us", "topology.link.jitter=20us"), (1,)),
    "dlcp-ring-delayed": ("dlcp-ring-lossy", ("topology.link.delay=300us", "topology.link.jitter=20us"), (1,)),
    "dlcp-trimmed": ("dlcp-lossy", ("job.size=776B", "job.iterations=5"), (1,)),
    "dlcp-ina-trimmed": ("dlcp-ina-lossy", ("job.size=776B", "job.iterations=5"), (1,)),
    "dlcp-ring-trimmed": ("dlcp-ring-lossy", ("job.size=776B", "job.iterations=5"), (1,)),
    "dlcp-one": ("dlcp-lossy", ("job.size=4B", "topology.hosts=2"), (1,)),
    "dlcp-ring-one": ("dlcp-ring-lossy", ("job.size=4B",), (1,)),
    "dlcp-odd": ("dlcp-lossy", ("job.size=50004B", "transport.path_mtu=256"), (1,)),
    "dlcp-hosts-32": ("dlcp-lossy", ("topology.hosts=32", "job.size=10kB"), (1,)),
    "dlcp-ina-hosts-32": ("dlcp-ina-lossy", ("topology.hosts=32", "job.size=10kB"), (1,)),
    "dlcp-ring-hosts-32": ("dlcp-ring-lossy", ("topology.hosts=32", "job.size=60kB"), (1,)),
    "dlcp-fast": ("dlcp-lossy", (*_FAST, "topology.hosts=9", _LOSS % "1%", "transport.rto=1ms"), (1,)),
    "dlcp-ina-fast": ("dlcp-ina-lossy", (*_FAST, "topology.hosts=9", _LOSS % "1%", "transport.rto=1ms"), (1,)),
    "dlcp-heavy": ("dlcp-lossy", (_LOSS % "15%",), (1,)),
    "dlcp-ina-heavy": ("dlcp-ina-lossy", (_LOSS % "15%",), (1, 2)),
    "dlcp-ring-heavy": ("dlcp-ring-lossy", (_LOSS % "15%",), (1, 2)),
    **{f"dlcp-faults-{name}": ("dlcp-lossy", (_FAULTS % more,), (1,)) for name, more in _BOUNDED.items()},
    **{f"dlcp-ina-faults-{name}": ("dlcp-ina-lossy", (_FAULTS % more,), (1,)) for name, more in _BOUNDED.items()},
    **{f"dlcp-ring-faults-{name}": ("dlcp-ring-lossy", (_FAULTS % more,), (1,)) for name, more in _MORE.items()},
}
"""DLCP over a server, behind switches that add, and in a ring"""
_REPAIR: Cases = {
    **{f"repair{more}": (f"repair{more}", (), (1,)) for more in _BUILT_IN["repair"]},
    "repair-lossy": ("repair-lossy", (), (1, 2, 3)),
    "repair-direct-lossy": ("repair-direct-lossy", (), (1, 2)),
    "repair-msr-lossy": ("repair-msr-lossy", (), (1, 2)),
    "repair-mbr-lossy": ("repair-mbr-lossy", (), (1, 2)),
    "repair-switch-restarted": ("repair-switch-restarted", (), (1, 2)),
    "repair-two-jobs": ("repair-two-jobs", (), (1, 2)),
    "repair-gf256": ("repair", ("job.combine=gf256", _LOSS % "2%"), (1,)),
    "repair-direct-xor": ("repair-direct-lossy", ("job.combine=xor", "job.iterations=3"), (1,)),
    "repair-traced": ("repair-lossy", ("trace=true",), (1, 2)),
    "repair-tree-traced": ("repair-switch-restarted", ("trace=true", _LOSS % "3%"), (1,)),
    "repair-float": ("repair-lossy", ("job.dtype=float32",), (1,)),
    "repair-clocks": ("repair-lossy", ("clocks={offset: 500ms, drift: 100ppm}",), (1,)),
    "repair-short-queue": ("repair-lossy", ("topology.link.queue=3",), (1,)),
    "repair-delayed": ("repair-lossy", ("topology.link.delay=300us", "topology.link.jitter=20us"), (1,)),
    "repair-trimmed": ("repair-lossy", ("job.size=776B", "job.iterations=5"), (1,)),
    "repair-direct-trimmed": ("repair-direct-lossy", ("job.size=776B", "job.iterations=5"), (1,)),
    "repair-one": ("repair-lossy", ("job.size=4B",), (1,)),
    "repair-odd": ("repair-lossy", ("job.size=50004B", "transport.path_mtu=256"), (1,)),
    "repair-few-slots": ("repair-lossy", ("switch.memory=2", "job.window_packets=2"), (1,)),
    "repair-fast": ("repair-lossy", (*_FAST, _LOSS % "1%", "transport.rto=1ms"), (1,)),
    "repair-heavy": ("repair-lossy", (_LOSS % "15%", "job.size=40kB"), (1, 2)),
    "repair-direct-heavy": ("repair-direct-lossy", (_LOSS % "15%",), (1,)),
    "repair-msr-heavy": ("repair-msr-lossy", (_LOSS % "15%", "job.size=60kB", "job.iterations=3"), (1,)),
    **{f"repair-faults-{name}": ("repair", (*_THRICE, faults), (1,)) for name, faults in _NEWCOMER.items()},
    **{
        f"repair-direct-faults-{name}": ("repair-direct-lossy", (*_THRICE, faults), (1,))
        for name, faults in _NEWCOMER.items()
    },
}
"""repairs through switches that combine, and without"""
_TENTH = "job.size=40kB"
_LOSSLESS: Cases = {
    "pfc-incast": ("pfc-incast", (), (1, 2)),
    "pfc-victim": ("pfc-victim", ("job.size=100kB",), (1,)),
    "pfc-deadlock": ("pfc-deadlock", ("time_limit=100ms",), (1,)),
    "pfc-storm": ("pfc-storm", ("time_limit=50ms",), (1,)),
    "pfc-storm-watchdog": ("pfc-storm-watchdog", (_TENTH,), (1,)),
    "pfc-slots": ("pfc-slots", (_TENTH,), (1,)),
    "pfc-slots-deadlock": ("pfc-slots-deadlock", ("time_limit=100ms",), (1,)),
    "pfc-netreduce": ("pfc-netreduce", (_TENTH,), (1,)),
    "pfc-lossy": ("pfc-incast", (_LOSS % "1%",), (1, 2)),
    "pfc-delayed": ("pfc-incast", ("topology.link.delay=300us", "pfc.buffer=300kB"), (1,)),
    "pfc-hpcc": ("pfc-incast", ("pfc={model: hpcc, buffer: 90kB, headroom: 6kB}",), (1,)),
    "pfc-receiver": ("pfc-netreduce", (_TENTH, "pfc.receivers={h2: 50Mbps}"), (1,)),
}
"""networks with PFC"""
FAMILIES: Mapping[str, Cases] = {
    "switchml": _SWITCHML, "atp": _ATP, "grid": _GRID, "dlcp": _DLCP, "repair": _REPAIR, "lossless": _LOSSLESS,
}  # fmt: skip
"""by file"""


def runs(family: str) -> Iterator[tuple[str, str, tuple[str, ...], int]]:
    """(name, scenario, overrides, seed)"""
    for name, (scenario, overrides, seeds) in FAMILIES[family].items():
        for seed in seeds:
            yield f"{name} {seed}", scenario, overrides, seed


def seen(scenario: str, overrides: tuple[str, ...], seed: int, **options: bool) -> str:
    """Records, packet-hops and digest of the history of a run."""
    records, digest, count = [], hashlib.sha256(), 0
    plan = make_plan(load_scenario(scenario, overrides, seed, "simulated"))
    simulation = Simulation(plan, records.append, sample_ns=10_000_000, **options)
    simulation.run()
    for start in range(0, len(records), 1000):
        digest.update(encode_records(records[start : start + 1000]))
    count = len(records)
    return f"{count} {simulation.packet_hops} {digest.hexdigest()}"


def _file(family: str) -> Path:
    return _FOLDER / f"{family}.json"


def known(family: str) -> dict[str, str]:
    file = _file(family)
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def main() -> None:
    for family in FAMILIES:
        found = known(family)
        for name, scenario, overrides, seed in runs(family):
            if name not in found:
                found[name] = seen(scenario, overrides, seed)
                print(name, found[name], flush=True)
                _file(family).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
