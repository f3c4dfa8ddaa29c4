"""Ranks with different numbers of batches: the join context of DistributedDataParallel."""

import torch
from common import batches, begin, digest, end, model, report
from torch.nn.parallel import DistributedDataParallel

rank, size = begin()
network = DistributedDataParallel(model())
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
with network.join():
    for inputs, labels in batches(rank, steps=3 + 2 * rank):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(inputs), labels).backward()
        optimizer.step()
report("weights", digest(network.parameters()))
end()
