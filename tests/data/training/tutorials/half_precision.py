"""Autocast in brain floats under DistributedDataParallel."""

import torch
from common import batches, begin, digest, end, model, report
from torch.nn.parallel import DistributedDataParallel

rank, size = begin()
network = DistributedDataParallel(model())
optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
for inputs, labels in batches(rank):
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(network(inputs).float(), labels)
    loss.backward()
    optimizer.step()
report("weights", digest(network.parameters()))
halves = DistributedDataParallel(model().to(torch.bfloat16))
halves(torch.ones(2, 8, dtype=torch.bfloat16) * (rank + 1)).sum().backward()
report("gradients", digest([parameter.grad for parameter in halves.parameters()]))
end()
