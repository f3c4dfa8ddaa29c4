"""`tb bench evolution`: which network optimisation is best where (docs/evolution.md)."""

from testbed.bench.evolution.bench import bench_evolution

__all__ = ["bench_evolution"]
