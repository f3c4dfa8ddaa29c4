"""Fully sharded data parallelism, version 1."""

import torch
from common import begin, digest, end, model, report, train
from torch.distributed.fsdp import FullyShardedDataParallel

rank, size = begin()
network = FullyShardedDataParallel(model(), device_id=torch.device("cpu"))
train(network, torch.optim.SGD(network.parameters(), lr=0.1), rank)
with FullyShardedDataParallel.summon_full_params(network):
    report("weights", digest(network.parameters()))
end()
