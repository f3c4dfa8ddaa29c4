"""Functional collectives, which return their results."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from common import begin, end, report

rank, size = begin()
group, mine = dist.group.WORLD, torch.arange(4.0) + rank
report("all_reduce", functional.all_reduce(mine, "sum", group).tolist())
report("avg", functional.all_reduce(mine, "avg", group).tolist())
report("all_gather", functional.all_gather_tensor(mine, 0, group).tolist())
report("reduce_scatter", functional.reduce_scatter_tensor(mine, "sum", 0, group).tolist())
report("broadcast", functional.broadcast(mine, 1, group).tolist())
sizes = [2] * size
report("all_to_all", functional.all_to_all_single(mine, sizes, sizes, group).tolist())
report("input", mine.tolist())
end()
