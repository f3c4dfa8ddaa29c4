"""Gradients that are views of the buckets, and a graph that never changes."""

import torch
from common import begin, digest, end, model, report, train
from torch.nn.parallel import DistributedDataParallel

rank, size = begin()
for static in (False, True):
    network = DistributedDataParallel(model(), gradient_as_bucket_view=True, static_graph=static, bucket_cap_mb=0.0002)
    train(network, torch.optim.Adam(network.parameters()), rank)
    report(f"static {static}", digest(network.parameters()))
end()
