"""DistributedSampler and DataLoader: each rank sees its part of the data."""

import torch
import torch.distributed as dist
from common import begin, digest, end, report
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

rank, size = begin()
draw = torch.Generator().manual_seed(4)
data = TensorDataset(torch.randn(22, 8, generator=draw), torch.randn(22, 1, generator=draw))
network = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
sampler = DistributedSampler(data)
for epoch in range(2):
    sampler.set_epoch(epoch)
    total = torch.zeros(2, dtype=torch.float64)
    for inputs, targets in DataLoader(data, batch_size=4, sampler=sampler):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(network(inputs), targets)
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item() * len(inputs), len(inputs)], dtype=torch.float64)
    dist.reduce(total, 0)
    if rank == 0:
        report(f"loss {epoch}", (total[0] / total[1]).item())
report("weights", digest(network.parameters()))
end()
