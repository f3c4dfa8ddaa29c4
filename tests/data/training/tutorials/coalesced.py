"""Several collectives as one."""

import torch
import torch.distributed as dist
from common import begin, end, report

rank, size = begin()
values = [torch.full((2,), rank + 1.0), torch.full((3,), rank + 2.0)]
with dist.distributed_c10d._coalescing_manager():
    for value in values:
        dist.all_reduce(value)
report("all_reduce", [value.tolist() for value in values])
end()
