"""Communication hooks: halves, and PowerSGD, whose callbacks wait for further sums."""

import torch
import torch.distributed as dist
from common import begin, digest, end, model, report
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

rank, size = begin()
for name, state, hook in (
    ("allreduce", None, default_hooks.allreduce_hook),
    ("fp16", None, default_hooks.fp16_compress_hook),
    (
        "powersgd",
        powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2),
        powerSGD_hook.powerSGD_hook,
    ),
):
    network = DistributedDataParallel(model(32, 64, 4))
    network.register_comm_hook(state, hook)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    draw = torch.Generator().manual_seed(rank)
    for _ in range(5):
        optimizer.zero_grad()
        network(torch.randn(6, 32, generator=draw)).square().mean().backward()
        optimizer.step()
    report(name, digest(network.parameters()))
dist.barrier()
end()
