"""Two stages by hand: activations go forward, gradients come back, with isend and irecv."""

import torch
import torch.distributed as dist
from common import begin, digest, end, report

rank, size = begin()
torch.manual_seed(5 + rank)
stage = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    if rank == 0:
        output = stage(torch.randn(4, 8))
        dist.isend(output.detach(), 1).wait()
        gradient = torch.empty(4, 8)
        dist.irecv(gradient, 1).wait()
        output.backward(gradient)
    elif rank == 1:
        inputs = torch.empty(4, 8)
        dist.irecv(inputs, 0).wait()
        inputs.requires_grad_()
        stage(inputs).square().mean().backward()
        dist.isend(inputs.grad, 0).wait()
    optimizer.step()
report("weights", digest(stage.parameters()))
end()
