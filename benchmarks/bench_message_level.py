"""Packet-hops per second of the message level beside those of the packet level, in one run; and how far its times are
off.

`python -m benchmarks.bench_message_level [--repeats N] [--json]`. Both levels run the same collectives, in turn, so
that a change of the machine's load meets both. A packet-hop is one frame on one link, ACKs included. At the message
level every message is an event of its own (nothing is symmetric here: each host has its own link rate, delay and
start); the packets that it stands for are counted, not handled. A rate says what that is worth, not that packets were
looked at.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from testbed.protocols.netreduce.scale_messages import netreduce_on_rack
from testbed.scale.model import RackLink, RackPoint
from testbed.scale.outcome import ScaleOutcome
from testbed.scale.packet import packet_level
from testbed.scale.rack import message_level

TARGET = 5e6
"""packet-hops per second"""
_SAME = RackPoint(hosts=8, size_bytes=2_000_000, rate_bps=10e9, delay_ns=1_000)
_LARGE = RackPoint(hosts=64, size_bytes=50_000_000, rate_bps=100e9, delay_ns=1_000)


def _uneven(point: RackPoint, message_packets: int) -> ScaleOutcome:
    """Every host differs from every other in rate, delay and start."""
    links = [
        RackLink(point.rate_bps * (1 + rank / point.hosts), point.delay_ns + 37 * rank) for rank in range(point.hosts)
    ]
    starts = [float(1_000 * (rank * 7 % point.hosts)) for rank in range(point.hosts)]
    return netreduce_on_rack(links, point.size_bytes, message_packets=message_packets, starts_ns=starts)


CASES: dict[str, tuple[str, Callable[[], ScaleOutcome]]] = {
    "packet netreduce": ("8 hosts, 2 MB, L 170", lambda: packet_level("netreduce", _SAME)),
    "message netreduce": ("8 hosts, 2 MB, L 170", lambda: message_level("netreduce", _SAME)),
    "packet ring": ("8 hosts, 2 MB", lambda: packet_level("ring", _SAME)),
    "message ring": ("8 hosts, 2 MB", lambda: message_level("ring", _SAME)),
    "message netreduce, uneven": ("64 hosts, 50 MB, L 170, all links differ", lambda: _uneven(_LARGE, 170)),
    "message netreduce, short": ("64 hosts, 50 MB, L 16, all links differ", lambda: _uneven(_LARGE, 16)),
}


def measure(repeats: int) -> list[dict[str, Any]]:
    rates: dict[str, list[float]] = {name: [] for name in CASES}
    outcomes: dict[str, ScaleOutcome] = {}
    for _ in range(repeats):
        for name, (_, run) in CASES.items():
            began = time.perf_counter()
            outcomes[name] = run()
            rates[name].append(outcomes[name].packet_hops / (time.perf_counter() - began))
    return [
        {
            "case": name, "what": what, "packet_hops": outcomes[name].packet_hops, "events": outcomes[name].events,
            "virtual_s": outcomes[name].seconds, "median": statistics.median(rates[name]), "worst": min(rates[name]),
            "best": max(rates[name]), "unit": "packet-hops/s",
        }
        for name, (what, _) in CASES.items()
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    rows = measure(args.repeats)
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    packet = {row["case"].removeprefix("packet "): row for row in rows if row["case"].startswith("packet ")}
    for row in rows:
        peer = packet.get(row["case"].removeprefix("message "))
        text = f"{row['case']:27} {row['what']:42} {row['median'] / 1e6:9.3f} M packet-hops/s"
        text += f" ({row['worst'] / 1e6:.3f} to {row['best'] / 1e6:.3f})"
        if row["case"].startswith("message "):
            text += f", target {TARGET / 1e6:.0f} M {'met' if row['median'] >= TARGET else 'MISSED'}"
            if peer:
                text += f", {row['median'] / peer['median']:.0f}x packets, time off by "
                text += f"{row['virtual_s'] / peer['virtual_s'] - 1:+.2%}"
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
