"""DistributedDataParallel as in the first tutorial."""

import torch
from common import begin, digest, end, model, report, train
from torch.nn.parallel import DistributedDataParallel

rank, size = begin()
network = DistributedDataParallel(model())
train(network, torch.optim.SGD(network.parameters(), lr=0.1), rank)
report("weights", digest(network.parameters()))
end()
