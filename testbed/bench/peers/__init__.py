"""All-reduces of gloo and OpenMPI over kernel TCP compared with ours, on the same links."""

from testbed.bench.peers.bench import bench_peers

__all__ = ["bench_peers"]
