"""A training whose reference fits one process: a small network on data of its own, SGD, gradients from `ina` or from a
fold.

`--ddp`: DistributedDataParallel as in tutorials; else one all-reduce of the flat gradient, whose layout is known.
The layout of the one bucket of DistributedDataParallel: parameters as the model lists them in the first step, then in
the order in which the backward pass was done with them."""

import argparse
import hashlib
import json

import torch
from torch import nn

FEATURES, CLASSES, BATCH = 24, 5, 8


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(FEATURES, 40), nn.Tanh(), nn.Linear(40, CLASSES))


def batches(rank):
    """What a rank sees, step by step."""
    draw = torch.Generator().manual_seed(100 + rank)
    truth = torch.randn(FEATURES, CLASSES, generator=torch.Generator().manual_seed(7))
    while True:
        inputs = torch.randn(BATCH, FEATURES, generator=draw)
        yield inputs, (inputs @ truth).argmax(1)


def gradient(parameters, model, batch):
    """Flat, shape (elements,), one parameter behind the other, and the loss."""
    model.zero_grad()
    loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
    loss.backward()
    return torch.cat([parameter.grad.reshape(-1) for parameter in parameters]), loss.item()


def put(parameters, flat):
    """A flat gradient into the parameters' own."""
    at = 0
    for parameter in parameters:
        parameter.grad.copy_(flat[at : at + parameter.numel()].view_as(parameter))
        at += parameter.numel()


def make_optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)


def digest(model):
    return hashlib.sha256(b"".join(bytes(memoryview(p.detach().numpy())) for p in model.parameters())).hexdigest()


def reference(size, steps, fold, *, ddp=False):
    """(digest of the weights, losses of rank 0) of a training in one process; `fold`: the ranks' flat gradients ->
    their sum. It computes in one thread, as `tb train` lets each rank: on some processors the threads of a matrix
    product decide how it rounds."""
    torch.set_num_threads(1)
    model, streams, losses, ready = make_model(), [batches(rank) for rank in range(size)], [], []
    optimizer = make_optimizer(model)
    layout = list(model.parameters())
    for parameter in layout:
        parameter.register_post_accumulate_grad_hook(ready.append)
    for _ in range(steps):
        flats = [gradient(layout, model, next(stream)) for stream in streams]
        losses.append(flats[0][1])
        put(layout, torch.from_numpy(fold([(flat * (1 / size)).numpy() for flat, _ in flats])))
        optimizer.step()
        if ddp:
            layout = ready[: len(layout)]
    return digest(model), losses


def main():
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--ddp", action="store_true")
    parser.add_argument("--bucket-mb", type=float, help="(default: one bucket for all)")
    options = parser.parse_args()
    dist.init_process_group("ina")
    rank, size = dist.get_rank(), dist.get_world_size()
    model, stream, losses = make_model(), batches(rank), []
    forward = DistributedDataParallel(model, bucket_cap_mb=options.bucket_mb) if options.ddp else model
    optimizer = make_optimizer(model)
    for _ in range(options.steps):
        if options.ddp:
            inputs, labels = next(stream)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(forward(inputs), labels)
            loss.backward()
            losses.append(loss.item())
        else:
            parameters = list(model.parameters())
            flat, loss = gradient(parameters, model, next(stream))
            flat *= 1 / size
            dist.all_reduce(flat)
            put(parameters, flat)
            losses.append(loss)
        optimizer.step()
    if rank == 0:
        print("losses", json.dumps(losses), flush=True)
    print("weights", digest(model), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
