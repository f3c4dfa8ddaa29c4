"""Groups of some ranks, each with its own collectives; one is destroyed and made again."""

import torch
import torch.distributed as dist
from common import begin, end, report

rank, size = begin()
alone, groups = dist.new_subgroups(1)
pair = dist.new_group([0, 1])
for name, group in (("alone", alone), ("pair", pair)):
    value = torch.tensor([rank + 1.5])
    dist.all_reduce(value, group=group)
    report(name, (value.item(), dist.get_rank(group), dist.get_world_size(group)))
dist.destroy_process_group(pair)
pair = dist.new_group([0, 1])
value = torch.tensor([rank])
dist.broadcast(value, 1, group=pair)
report("again", value.item())
end()
