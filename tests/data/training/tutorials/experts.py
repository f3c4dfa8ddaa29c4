"""Tokens go to experts at other ranks and come back: all_to_all with uneven parts."""

import torch
import torch.distributed as dist
from common import begin, digest, end, report

rank, size = begin()
tokens = torch.randn(7, 4, generator=torch.Generator().manual_seed(rank))
expert = torch.arange(7).add(rank) % size
order = expert.argsort(stable=True)
counts = torch.bincount(expert, minlength=size)
incoming = torch.empty_like(counts)
dist.all_to_all_single(incoming, counts)
there = torch.empty(int(incoming.sum()), 4)
dist.all_to_all_single(there, tokens[order], incoming.tolist(), counts.tolist())
back = torch.empty_like(tokens)
dist.all_to_all_single(back, there * (rank + 1), counts.tolist(), incoming.tolist())
report("tokens", digest([back]))
end()
