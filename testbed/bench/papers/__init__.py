"""`tb bench papers`: the headlines of the papers, each measured here and compared with what was published."""

from testbed.bench.papers.bench import bench_papers

__all__ = ["bench_papers"]
