"""ZeroRedundancyOptimizer: each rank holds a part of the optimizer's state."""

import torch
from common import begin, digest, end, model, report, train
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

rank, size = begin()
network = DistributedDataParallel(model())
optimizer = ZeroRedundancyOptimizer(network.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
train(network, optimizer, rank)
report("weights", digest(network.parameters()))
optimizer.consolidate_state_dict(to=0)
if rank == 0:
    report("state", len(optimizer.state_dict()["state"]))
end()
