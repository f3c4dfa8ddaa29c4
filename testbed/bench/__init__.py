"""Paired measurements."""

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from testbed.bench.options import BenchOptions
    from testbed.bench.registry import bench_world, plans_of, run_bench

__all__ = ["BenchOptions", "bench_world", "plans_of", "run_bench"]

__getattr__ = lazily(
    __name__,
    {"BenchOptions": ".options", "bench_world": ".registry", "plans_of": ".registry", "run_bench": ".registry"},
)
