"""Tensor parallelism: the first layer by columns, the second by rows."""

import torch
from common import begin, digest, end, model, report
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

rank, size = begin()
network = parallelize_module(
    model(), init_device_mesh("cpu", (size,)), {"0": ColwiseParallel(), "2": RowwiseParallel()}
)
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
draw = torch.Generator().manual_seed(3)  # all ranks see the same data
for _ in range(3):
    optimizer.zero_grad()
    network(torch.randn(5, 8, generator=draw)).square().mean().backward()
    optimizer.step()
report("weights", digest([parameter.full_tensor() for parameter in network.parameters()]))
end()
