"""Paired measurements: each row says what was measured, its peer, repeats, median, spread and ratio."""

from testbed.bench.options import BenchOptions
from testbed.bench.registry import bench_world, require_plans, run_bench

__all__ = ["BenchOptions", "bench_world", "require_plans", "run_bench"]
