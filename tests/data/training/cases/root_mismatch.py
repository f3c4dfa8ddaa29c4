"""Ranks that name different roots."""

import torch
import torch.distributed as dist

dist.init_process_group("ina")
rank = dist.get_rank()
x = torch.full((3,), float(rank))
dist.broadcast(x, src=rank % 2)
print("broadcast gave", x[0].item(), flush=True)
y = torch.full((3,), float(rank))
dist.reduce(y, dst=rank % 2)
print("reduce gave", y[0].item(), flush=True)
dist.all_reduce(torch.ones(3))
dist.destroy_process_group()
