"""The schedules of torch.distributed.pipelining: GPipe and 1F1B."""

import torch
from common import begin, digest, end, report
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

rank, size = begin()
for kind in (ScheduleGPipe, Schedule1F1B):
    torch.manual_seed(7 + rank)
    layer = torch.nn.Linear(8, 8)
    stage = PipelineStage(layer, rank, size, torch.device("cpu"))
    schedule = kind(stage, n_microbatches=4, loss_fn=torch.nn.functional.mse_loss)
    torch.manual_seed(8)
    inputs, target = torch.randn(8, 8), torch.randn(8, 8)
    if rank == 0:
        schedule.step(inputs)
    elif rank == size - 1:
        schedule.step(target=target)
    else:
        schedule.step()
    report(kind.__name__, digest([parameter.grad for parameter in layer.parameters()]))
end()
