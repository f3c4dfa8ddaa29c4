"""A group that is destroyed and made again; the source is late, the others read first."""

import os
import time

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
for turn in range(3):
    dist.init_process_group(os.environ.get("BE", "ina"))
    if rank == 1:
        time.sleep(1)  # the source is late, the others read first
    x = torch.tensor([10 * turn + rank])
    dist.broadcast(x, 1)
    parts = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, torch.tensor([100 * turn + rank]))
    y = torch.ones(3)
    dist.all_reduce(y)
    want = [100 * turn + r for r in range(len(parts))]
    good = x.item() == 10 * turn + 1 and [p.item() for p in parts] == want
    print(
        "turn",
        turn,
        "ok"
        if good
        else f"WRONG broadcast {x.item()} want {10 * turn + 1}; gathered {[p.item() for p in parts]} want {want}",
        flush=True,
    )
    dist.destroy_process_group()
