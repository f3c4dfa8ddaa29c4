"""Packet-hops per CPU second of each protocol at 0 and 1 % loss, and of ns-3's star in the same run.

`python -m benchmarks.bench_hops [--repeats N] [--case NAME] [--size SIZE] [--write] [--profile]`. A hop is one frame
over one wire. The time is CPU time from the first event to the last one. Ours has sums, checksums and hashes in it;
ns-3 moves bytes alone. All cases take turns, and the best of the repeats counts: other work of the machine only adds.
The peer (`ns3_star.cc`) needs g++ and Debian's `libns3-dev`; its rows are absent without them. `--write` puts the table
into `docs/simulation.md`. `--profile` shows where the time of each case goes, instead.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.bench_protocols import CASES as DATAGRAMS
from benchmarks.bench_protocols import measure

__all__ = ["main", "table_of", "written"]

_ROOT = Path(__file__).resolve().parents[1]
_PAGE = _ROOT / "docs" / "simulation.md"
_BEGIN, _END = "<!-- hops: made by benchmarks/bench_hops.py -->", "<!-- end of hops -->"
_LOSSES = ("0%", "1%")
_RACK = ("topology.hosts=8", "topology.link.rate=10Gbps", "time_limit=60s")
_FAULTS = "faults=[{{kind: loss, name: loss, links: all, direction: both, rate: {}}}]"
_CONNECTED = {
    "NetReduce": ("transport.recovery=gbn",),
    "NetReduce, irn": ("transport.recovery=irn",),
    "NetReduce, irn-held": ("transport.recovery=irn-held",),
    "ring": ("switch.program=forward", "job.protocol=ring"),
    "rabenseifner": ("switch.program=forward", "job.protocol=rabenseifner"),
}
_MORE_DATAGRAMS = {"ESA": ("esa-lossy", ("topology.hosts=9",)), "jobs-8": ("jobs-8", ())}
_PEERS = {"ns-3, UDP": "udp", "ns-3, TCP": "tcp"}
_LIBRARIES = ("core", "network", "internet", "point-to-point", "applications")
_HOSTS, _PEER_BYTES = 8, 3_000_000
Run = Callable[..., dict[str, float | str]]
"""`profile=True`: its profile goes to stderr"""


def _ours(size: str) -> Iterator[tuple[str, str, Run]]:
    """(protocol, loss, one run of it)"""
    common = ("topology.link.rate=10Gbps", "switch.memory=256", "job.window_packets=128", "transport.rto=1ms",
              "time_limit=30s", f"job.size={size}")  # fmt: skip
    for case, (scenario, more) in DATAGRAMS.items():
        name, loss, _ = case.rsplit(" ", 2)
        yield name.rstrip(","), loss, partial(measure, scenario, (*common, *more), _ROOT, native=True)
    for name, (scenario, more) in _MORE_DATAGRAMS.items():
        for loss in _LOSSES:
            words = (*common, *more, _FAULTS.format(loss))
            yield name, loss, partial(measure, scenario, words, _ROOT, native=True)
    for name, more in _CONNECTED.items():
        for loss in _LOSSES:
            words = (*_RACK, f"job.size={size}", *more, _FAULTS.format(loss))
            yield name, loss, partial(measure, "rack-lossy", words, _ROOT, native=True)


def _peers(folder: Path) -> Iterator[tuple[str, str, Run]]:
    """Nothing where ns-3 is not there."""
    built = folder / "ns3_star"
    words = ["g++", "-O2", "-std=c++17", str(_ROOT / "benchmarks" / "ns3_star.cc"), "-o", str(built)]
    try:
        done = subprocess.run(
            [*words, *(f"-lns3-{name}" for name in _LIBRARIES)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        print("no ns-3: g++ is not installed", file=sys.stderr)
        return
    if done.returncode:
        print(f"no ns-3: {done.stderr.splitlines()[0]}", file=sys.stderr)
        return
    for name, kind in _PEERS.items():
        for loss in _LOSSES:
            share = str(float(loss.rstrip("%")) / 100)
            yield name, loss, partial(_peer, [str(built), kind, str(_HOSTS), str(_PEER_BYTES), share])


def _peer(command: list[str]) -> dict[str, float | str]:
    found: dict[str, float | str] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return found


def table_of(rates: dict[str, dict[str, float]]) -> str:
    """In Markdown. `rates`: hops per CPU second, by protocol and loss."""
    lines = ["|million hops per CPU second|no loss|1 %|", "|---|---|---|"]
    for name, found in rates.items():
        lines.append("|".join(("", name, *(f"{found[loss] / 1e6:.2f}" for loss in _LOSSES), "")))
    return "\n".join(lines) + "\n"


def written(page: str, table: str) -> str:
    """The page with that table in the place of the one before. Raises ValueError for a page that has no place."""
    head, begin, rest = page.partition(_BEGIN)
    _, end, tail = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"the page lacks {_BEGIN} or {_END}")
    return f"{head}{_BEGIN}\n{table}{_END}{tail}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--case", default="", help="begin of the names of the protocols to run")
    parser.add_argument("--size", default="1MB", help="of the gradient")
    parser.add_argument("--write", action="store_true", help="the table goes to docs/simulation.md")
    parser.add_argument("--profile", action="store_true", help="where the CPU time goes")
    options = parser.parse_args()
    os.environ.pop("INA_NATIVE", None)
    if options.profile:
        for name, loss, run in _ours(options.size):
            if name.startswith(options.case):
                print(f"{name}, {loss} loss", file=sys.stderr, flush=True)
                run(profile=True)
        return 0
    rates: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        runs = [run for run in (*_ours(options.size), *_peers(Path(folder))) if run[0].startswith(options.case)]
        for _ in range(options.repeats):
            for name, loss, run in runs:
                found = run()
                rate = float(found["hops"]) / float(found["seconds"])
                best = rates.setdefault(name, {})
                best[loss] = max(best.get(loss, 0.0), rate)
    table = table_of(rates)
    print(table, end="")
    if options.write:
        _PAGE.write_text(written(_PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
