"""`tb bench ina`: SwitchML, ATP and ESA as reconstructed here, over switch memory, for mixes of jobs."""

from testbed.bench.contract import Bench
from testbed.protocols.esa.bench_ina.bench import bench_ina

__all__ = ["BENCHES"]

BENCHES = (Bench("ina", bench_ina, ("simulated", "emulated"), ("quick", "processes", "seeds", "csv", "repeats")),)
