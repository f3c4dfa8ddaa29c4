"""Ranks train alone and average their weights now and then."""

import torch
from common import begin, digest, end, model, report, train
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager

rank, size = begin()
network = model()
averager = PeriodicModelAverager(period=2, warmup_steps=0)
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
for _ in range(5):
    train(network, optimizer, rank, steps=1)
    averager.average_parameters(network.parameters())
report("weights", digest(network.parameters()))
end()
