"""A tensor-parallel and a pipelined script. Their values are integers small enough for exact floats: whatever the order
of a sum, it is that of one process."""

import sys

import torch
import torch.distributed as dist
from fsdp_program import count_store  # in the folder of this script
from torch import nn

SIZE, WIDTH = 4, 8


def whole_numbers(model):
    draw = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randint(-2, 3, parameter.shape, generator=draw).float())
    return model


def inputs():
    return torch.randint(-3, 4, (SIZE, WIDTH), generator=torch.Generator().manual_seed(5)).float()


def layers():
    return whole_numbers(nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(SIZE))))


def tensor():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    def make():
        return whole_numbers(nn.ModuleDict({"up": nn.Linear(WIDTH, 4 * WIDTH), "down": nn.Linear(4 * WIDTH, WIDTH)}))

    def run(model):
        x = inputs().requires_grad_()
        out = model["down"](torch.relu(model["up"](x)))
        out.sum().backward()
        return out.detach(), x.grad, model

    right_out, right_grad, right_model = run(make())
    split = parallelize_module(
        make(), init_device_mesh("cpu", (SIZE,)), {"up": ColwiseParallel(), "down": RowwiseParallel()}
    )
    out, grad, model = run(split)
    assert torch.equal(out, right_out)
    assert torch.equal(grad, right_grad)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter.grad.full_tensor(), dict(right_model.named_parameters())[name].grad), name


def pipeline():
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    rank, model = dist.get_rank(), layers()

    def loss_of(out, target):
        return (out - target).sum()

    stage = PipelineStage(model[rank], rank, SIZE, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, SIZE, loss_fn=loss_of, scale_grads=False)
    if rank == 0:
        schedule.step(inputs())
    elif rank == SIZE - 1:
        schedule.step(target=torch.zeros(SIZE, WIDTH))
    else:
        schedule.step()
    alone = layers()
    alone(inputs()).sum().backward()
    assert torch.equal(model[rank].weight.grad, alone[rank].weight.grad)


def main():
    counted = count_store()
    dist.init_process_group("ina")
    {"tensor": tensor, "pipeline": pipeline}[sys.argv[1]]()
    print(f"right, stored {counted['bytes']}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
