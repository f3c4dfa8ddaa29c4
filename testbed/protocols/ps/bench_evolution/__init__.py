"""`tb bench evolution`: which network optimisation is best where (docs/evolution.md)."""

from testbed.bench.contract import Bench
from testbed.protocols.ps.bench_evolution.bench import bench_evolution

__all__ = ["BENCHES"]

BENCHES = (Bench("evolution", bench_evolution, ("simulated", "emulated"), ("quick", "processes", "csv")),)
