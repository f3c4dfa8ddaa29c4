"""`tb bench grid` as a value."""

from __future__ import annotations

from testbed.bench.contract import Bench
from testbed.bench.options import BenchOptions
from testbed.bench.rows import Row
from testbed.bench.swept import Say
from testbed.protocols.grid.bench import bench_grid
from testbed.protocols.grid.bench_fabrics import bench_fabrics
from testbed.protocols.grid.bench_plans import run_plans

__all__ = ["BENCHES"]


def _bench(say: Say, world: str, options: BenchOptions) -> list[Row]:
    rows = bench_grid(say, world, options.slower)
    return rows + bench_fabrics(say) if world == "simulated" else rows


BENCHES = (
    Bench(
        "grid", _bench, ("simulated", "emulated"), ("slower",),
        plans=lambda names, seeds, as_json: run_plans(names, as_json=as_json, seeds=seeds),
    ),
)  # fmt: skip
