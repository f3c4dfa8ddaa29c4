"""A gradient of sum() is an expanded tensor: refused at the call, and the next sum is right."""

import torch
import torch.distributed as dist

dist.init_process_group("ina")
x = torch.ones(1).expand(10)
try:
    dist.all_reduce(x)
    print("returned", x[0].item(), flush=True)
except Exception as error:
    print("ERR", type(error).__name__, error, flush=True)
y = torch.ones(3)
dist.all_reduce(y)
print("after", y.tolist(), flush=True)
dist.destroy_process_group()
