"""A mesh of two dimensions, one of which has one rank."""

import torch
import torch.distributed as dist
from common import begin, end, report
from torch.distributed.device_mesh import init_device_mesh

rank, size = begin()
mesh = init_device_mesh("cpu", (size, 1), mesh_dim_names=("data", "model"))
for name in ("data", "model"):
    value = torch.tensor([rank + 1])
    dist.all_reduce(value, group=mesh[name].get_group())
    report(name, (mesh[name].size(), mesh[name].get_local_rank(), value.item()))
end()
