"""What the scripts of this folder share: their model, their data, and reports that another backend must repeat."""

import hashlib
import os

import torch
import torch.distributed as dist


def begin(**more):
    """(rank, size). `BE`: the backend."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group(os.environ.get("BE", "ina"), **more)
    return dist.get_rank(), dist.get_world_size()


def model(inputs=8, hidden=16, outputs=4):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(inputs, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, outputs))


def batches(rank, steps=4, inputs=8, outputs=4):
    draw = torch.Generator().manual_seed(100 + rank)
    for _ in range(steps):
        yield torch.randn(6, inputs, generator=draw), torch.randint(0, outputs, (6,), generator=draw)


def train(network, optimizer, rank, steps=4):
    for inputs, labels in batches(rank, steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(inputs), labels).backward()
        optimizer.step()


def digest(tensors):
    return hashlib.sha256(
        b"".join(t.detach().clone().view(torch.uint8).numpy().tobytes() for t in tensors)
    ).hexdigest()[:16]


def report(name, value):
    print("result", dist.get_rank(), name, value, flush=True)


KEPT = []
"""Groups of gloo. PyTorch waits for a group's threads while it holds the interpreter, for which those threads may wait:
when the last reference goes, both may wait for ever. They keep the store at their port, with the addresses of this
group: a next group of gloo at that port may read those and wait for ever, so it gets another one."""


def end():
    if dist.get_backend() == "gloo":
        KEPT.extend(dist.distributed_c10d._world.pg_map)
        os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + 1)
    dist.destroy_process_group()
