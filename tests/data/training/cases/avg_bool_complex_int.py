"""The mean of truth values is refused, that of integers is cut towards zero."""

import torch
import torch.distributed as dist

dist.init_process_group("ina")
b = torch.tensor([True, True])
dist.all_reduce(b, op=dist.ReduceOp.AVG)
print("bool", b.tolist(), flush=True)
i = torch.tensor([-dist.get_rank()])
dist.all_reduce(i, op=dist.ReduceOp.AVG)
print("int64", i.tolist(), flush=True)
dist.all_reduce(torch.ones(2))
dist.destroy_process_group()
