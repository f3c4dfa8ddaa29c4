"""The benches of NetReduce: on a rack, and on a fabric."""

from __future__ import annotations

from testbed.bench.contract import Bench
from testbed.protocols.netreduce.bench_allreduce import bench_allreduce
from testbed.protocols.netreduce.bench_fabric import bench_fabric

__all__ = ["BENCHES"]

BENCHES = (
    Bench(
        "allreduce",
        lambda say, world, options: bench_allreduce(say, dilation=options.factor),
        ("emulated",),
        ("dilation",),
    ),
    Bench("fabric", lambda say, world, options: bench_fabric(say, world), ("simulated", "emulated")),
)
