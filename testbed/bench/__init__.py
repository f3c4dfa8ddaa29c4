"""Paired measurements."""

from testbed.bench.options import BenchOptions
from testbed.bench.registry import bench_world, plans_of, run_bench

__all__ = ["BenchOptions", "bench_world", "plans_of", "run_bench"]
