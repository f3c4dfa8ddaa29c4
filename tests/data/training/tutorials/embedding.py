"""An embedding with dense gradients, and weights that two layers share."""

import torch
from common import begin, digest, end, report
from torch.nn.parallel import DistributedDataParallel


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(20, 8)
        self.out = torch.nn.Linear(8, 20, bias=False)
        self.out.weight = self.words.weight

    def forward(self, words):
        return self.out(self.words(words))


rank, size = begin()
network = DistributedDataParallel(Tied())
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
draw = torch.Generator().manual_seed(rank)
for _ in range(4):
    words = torch.randint(0, 20, (3, 5), generator=draw)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(network(words).flatten(0, 1), words.flatten()).backward()
    optimizer.step()
report("weights", digest(network.parameters()))
end()
