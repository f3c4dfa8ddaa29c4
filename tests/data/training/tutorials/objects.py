"""Objects instead of tensors."""

import torch.distributed as dist
from common import begin, end, report

rank, size = begin()
found = [None] * size
dist.all_gather_object(found, {"rank": rank, "text": "x" * (rank + 1)})
report("all_gather", found)
found = [None] * size if rank == 0 else None
dist.gather_object(("from", rank), found, dst=0)
report("gather", found)
values = [{"seed": 3}, "two"] if rank == 1 else [None, None]
dist.broadcast_object_list(values, src=1)
report("broadcast", values)
mine = [None]
dist.scatter_object_list(mine, [f"part {other}" for other in range(size)] if rank == 0 else None, src=0)
report("scatter", mine)
if rank == 0:
    dist.send_object_list(["a", 1], dst=1)
elif rank == 1:
    values = [None, None]
    dist.recv_object_list(values, src=0)
    report("recv", values)
end()
