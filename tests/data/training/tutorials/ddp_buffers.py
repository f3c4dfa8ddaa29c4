"""Batch normalisation: the buffers of rank 0 go to all ranks before each step."""

import torch
from common import begin, digest, end, report, train
from torch.nn.parallel import DistributedDataParallel

rank, size = begin()
torch.manual_seed(2 + rank)  # DistributedDataParallel makes the weights alike
network = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 4))
)
train(network, torch.optim.SGD(network.parameters(), lr=0.1), rank)
network(torch.zeros(2, 8))
report("weights", digest(network.parameters()))
end()
