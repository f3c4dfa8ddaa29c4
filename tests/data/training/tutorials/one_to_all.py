"""scatter, gather, reduce, broadcast, and reduce_scatter of lists."""

import torch
import torch.distributed as dist
from common import begin, end, report

rank, size = begin()
mine = torch.zeros(2)
dist.scatter(mine, [torch.full((2,), float(other)) for other in range(size)] if rank == 1 else None, src=1)
report("scatter", mine.tolist())
parts = [torch.zeros(2) for _ in range(size)] if rank == 0 else None
dist.gather(mine * 3, parts, dst=0)
report("gather", parts and [part.tolist() for part in parts])
for name in ("SUM", "MIN", "MAX", "PRODUCT"):
    value = torch.tensor([rank + 1, 5 - rank])
    dist.all_reduce(value, op=getattr(dist.ReduceOp, name))
    report(name, value.tolist())
whole = torch.zeros(2 * size, dtype=torch.float64)
dist.all_gather_into_tensor(whole, mine.double())
report("all_gather", whole.tolist())
value = torch.zeros(2)
dist.reduce_scatter_tensor(value, torch.arange(2.0 * size) + rank)
report("reduce_scatter", value.tolist())
flags = torch.tensor([rank == 0, True])
dist.all_reduce(flags, op=dist.ReduceOp.MIN)
report("flags", flags.tolist())
end()
