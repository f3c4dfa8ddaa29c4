"""How far the message and flow level are off the packet level: a table over hosts, rates, delays, messages and windows.

`python -m benchmarks.scale_deviations [--points N] [--seed S]`: N drawn points for NetReduce and for the ring each; the
worst of each protocol and level are listed, with the share of points that is off by more than 5 %.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence

from testbed.scale.model import RackPoint
from testbed.scale.packet import packet_level
from testbed.scale.rack import flow_level, message_level

_LIMIT = 0.05
_SHOWN = 5


def draw_point(draw: random.Random) -> RackPoint:
    return RackPoint(
        hosts=draw.randint(2, 8),
        size_bytes=4 * draw.randint(250, 50_000),
        rate_bps=draw.choice([1e8, 1e9, 1e10, 2.5e10, 1e11]),
        delay_ns=draw.choice([0, 1_000, 5_000, 20_000, 100_000, 500_000]),
        message_packets=draw.choice([1, 2, 4, 8, 16, 64, 170]),
        window_messages=draw.choice([1, 2, 3, 4, 8]),
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    levels = {"message": message_level, "flow": flow_level}
    for protocol in ("netreduce", "ring"):
        draw = random.Random(f"{protocol} {args.seed}")
        off: dict[str, list[tuple[float, RackPoint]]] = {name: [] for name in levels}
        for number in range(args.points):
            point = draw_point(draw)
            packets = packet_level(protocol, point).seconds
            for name, level in levels.items():
                off[name].append((level(protocol, point).seconds / packets - 1, point))
            if sys.stderr.isatty():
                print(f"\r{protocol} {number + 1} of {args.points}", end="", file=sys.stderr)
        for name, found in off.items():
            found.sort(key=lambda item: -abs(item[0]))
            median = sorted(abs(share) for share, _ in found)[len(found) // 2]
            outside = sum(abs(share) > _LIMIT for share, _ in found)
            print(
                f"{protocol}, {name} level: {outside} of {len(found)} points off by more than 5 %; median {median:.3%}"
            )
            for share, point in found[:_SHOWN]:
                print(
                    f"  {share:+8.3%}  P={point.hosts} {point.size_bytes} B, {point.rate_bps / 1e9:g} Gb/s, "
                    f"delay {point.delay_ns / 1e3:g} us, L={point.message_packets}, N={point.window_messages}"
                )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
