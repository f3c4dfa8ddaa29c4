"""JCT over loss: every protocol, with each of its loss recoveries, on a rack and on spine-leaf."""

from testbed.bench.loss.bench import bench_loss

__all__ = ["bench_loss"]
