"""Functional collectives and device meshes want groups that have names."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("ina")
for name, call in (
    ("functional all_reduce", lambda: funcol.all_reduce(torch.ones(2), "sum", dist.group.WORLD).tolist()),
    ("device mesh", lambda: init_device_mesh("cpu", (dist.get_world_size(),))),
):
    try:
        print(name, call(), flush=True)
    except Exception as error:
        print(name, "ERR", type(error).__name__, str(error).splitlines()[0], flush=True)
dist.all_reduce(torch.ones(2))
dist.destroy_process_group()
