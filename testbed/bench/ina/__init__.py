"""`tb bench ina`: SwitchML, ATP and ESA as reconstructed here, over switch memory, for mixes of jobs."""

from testbed.bench.ina.bench import bench_ina

__all__ = ["bench_ina"]
