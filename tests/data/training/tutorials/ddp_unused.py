"""A model of which each step uses another part: find_unused_parameters."""

import torch
from common import batches, begin, digest, end, model, report
from torch.nn.parallel import DistributedDataParallel


class Either(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = model(), model()

    def forward(self, inputs, use_left):
        return self.left(inputs) if use_left else self.right(inputs)


rank, size = begin()
network = DistributedDataParallel(Either(), find_unused_parameters=True)
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
for step, (inputs, labels) in enumerate(batches(rank)):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(network(inputs, (step + rank) % 2 == 0), labels).backward()
    optimizer.step()
report("weights", digest(network.parameters()))
end()
