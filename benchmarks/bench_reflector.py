"""Frames per second from one veth pair to another: a data plane of ours, and a tc reflector, which stays in the kernel.

`python -m benchmarks.bench_reflector [--json]` as root. As in `bench_packet_io`, this process keeps `--window` frames
on the way. In turns they are passed on by the plane (recvmmsg and sendmmsg in C, a Machine that copies whole batches,
in a process of its own) and by `clsact` with `mirred egress redirect` over the same pairs. The reflector is what the
kernel takes for veth and for our own sender and receiver: no plane over packet sockets gets past it. A third kind
stands between: the same packet sockets with nothing behind them, each batch sent from where it was received. What it is
below the reflector is the price of leaving the kernel; what the plane is below it is ours.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

from benchmarks.bench_packet_io import drive, measure
from switch_nodes.dataplane.native_io import native_library
from testbed.worlds.emulated.kernel_faults import pass_on
from tests.support.namespace import own_namespace

_AIM = 0.9
_SIZES = (1082, 4154)
"""frames of 1 KB and 4 KB of payload"""
_KINDS = {"native": "the plane", "bare": "packet sockets alone"}


def reflected(size: int, frames: int, window: int) -> float:
    """Frames per second over the reflector, which is there only meanwhile."""
    pass_on("a0", "b0")
    try:
        return drive(size, frames, window)
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", "a0", "clsact"], check=True)


def row(measured: str, size: int, ours: list[float], kernel: list[float]) -> dict[str, object]:
    return {
        "measured": f"frames/s of {measured}, {size}-byte frames",
        "peer": "tc reflector over the same veth pairs",
        "repeats": len(ours),
        "median": statistics.median(ours),
        "spread": [min(ours), max(ours)],
        "peer_median": statistics.median(kernel),
        "peer_spread": [min(kernel), max(kernel)],
        "ratio": statistics.median(one / peer for one, peer in zip(ours, kernel, strict=True)),
        "aim": _AIM,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--window", type=int, default=256)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if native_library() is None:
        print("no C core to measure: see python -m workloads.native.build", file=sys.stderr)
        return 3
    rows = []
    with own_namespace() as space:
        for pair in ("a", "b"):
            space.veth(f"{pair}0", f"{pair}1", mtu=9000)
        for size in _SIZES:
            taken: dict[str, list[float]] = {kind: [] for kind in _KINDS}
            kernel = []
            for _ in range(options.repeats):
                for kind, found in taken.items():
                    found.append(measure(kind, size, options.frames, options.window)[0])
                kernel.append(reflected(size, options.frames, options.window))
            rows += [row(_KINDS[kind], size, found, kernel) for kind, found in taken.items()]
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    for each in rows:
        (low, high), (peer_low, peer_high) = each["spread"], each["peer_spread"]  # type: ignore[misc]
        print(
            f"{each['measured']}: {each['median']:,.0f} ({low:,.0f}..{high:,.0f}); {each['peer']}: "
            f"{each['peer_median']:,.0f} ({peer_low:,.0f}..{peer_high:,.0f}); ratio {each['ratio']:.2f}, aim {_AIM}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
