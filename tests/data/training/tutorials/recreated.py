"""A group that is destroyed and made again; one rank is always late."""

import time

import torch
import torch.distributed as dist
from common import begin, end, report

for turn in range(3):
    rank, size = begin()
    if rank == turn % size:
        time.sleep(0.3)
    value = torch.tensor([10 * turn + rank])
    dist.broadcast(value, 1)
    parts = [torch.zeros(1, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(parts, torch.tensor([100 * turn + rank]))
    total = torch.tensor([turn + rank + 0.5])
    dist.all_reduce(total)
    report(f"turn {turn}", (value.item(), [part.item() for part in parts], total.item()))
    end()
