"""Each rank posts its receive before its send."""

import os

import torch
import torch.distributed as dist

dist.init_process_group(os.environ.get("BE", "ina"))
rank, size = dist.get_rank(), dist.get_world_size()
got = torch.zeros(2)
ops = [
    dist.P2POp(dist.irecv, got, (rank - 1) % size),
    dist.P2POp(dist.isend, torch.full((2,), float(rank)), (rank + 1) % size),
]
for work in dist.batch_isend_irecv(ops):
    work.wait()
print("got", got.tolist(), "want", float((rank - 1) % size), flush=True)
dist.all_reduce(torch.ones(4))
dist.destroy_process_group()
