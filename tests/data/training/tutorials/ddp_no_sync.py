"""Gradients added up over two batches before they are summed: no_sync."""

import contextlib

import torch
from common import batches, begin, digest, end, model, report
from torch.nn.parallel import DistributedDataParallel

rank, size = begin()
network = DistributedDataParallel(model())
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
for step, (inputs, labels) in enumerate(batches(rank, steps=6)):
    with network.no_sync() if step % 2 == 0 else contextlib.nullcontext():
        torch.nn.functional.cross_entropy(network(inputs), labels).backward()
    if step % 2:
        optimizer.step()
        optimizer.zero_grad()
report("weights", digest(network.parameters()))
end()
