"""What DistributedDataParallel hides of the network: a step is shorter than its backward pass and its all-reduces in
sequence, because buckets are summed while the pass goes on.

Each layer's backward pass takes `--compute` milliseconds in which the processor is free, as where an accelerator
computes: so the machine has time for the network that it emulates. In turns it measures the backward pass alone, the
all-reduces alone and the step of both; the timeline is that of the last step. In virtual time the clock of the network
stands still while ranks compute: run it over real packets.
"""

import argparse
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

COLUMNS = 64


class Computing(torch.autograd.Function):
    """The identity, whose backward pass takes its time."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, seconds: float) -> torch.Tensor:
        ctx.seconds = seconds
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        time.sleep(ctx.seconds)
        return gradient, None


class Layers(nn.Module):
    def __init__(self, count: int, width: int, seconds: float) -> None:
        super().__init__()
        self.layers, self.seconds = nn.ModuleList(nn.Linear(width, width) for _ in range(count)), seconds

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            value = Computing.apply(layer(value), self.seconds)
        return value


@dataclass
class Timeline:
    """Of one step; seconds since its backward pass began."""

    began: float = field(default_factory=time.perf_counter)
    posted: dict[int, float] = field(default_factory=dict)
    """by bucket"""
    summed: dict[int, float] = field(default_factory=dict)
    computed: float = 0.0
    """when the first layer's gradient was there, the last one of the pass"""
    ended: float = 0.0

    def now(self) -> float:
        return time.perf_counter() - self.began

    def lines(self) -> list[str]:
        rows = [("backward pass", 0.0, self.computed)]
        rows += [(f"bucket {bucket}", self.posted[bucket], self.summed[bucket]) for bucket in sorted(self.posted)]
        scale = COLUMNS / max(self.ended, *self.summed.values())
        drawn = []
        for name, start, stop in rows:
            first, behind = round(start * scale), max(round(start * scale) + 1, round(stop * scale))
            bar = " " * first + "#" * (behind - first)
            drawn.append(f"{name:14}|{bar:{COLUMNS}}| {1000 * start:6.1f} to {1000 * stop:6.1f} ms")
        return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="ina", help="ina or gloo")
    parser.add_argument("--steps", type=int, default=7, help="of each kind")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=256, help="a layer's gradient has about width x width floats")
    parser.add_argument("--compute", type=float, default=25.0, help="ms of each layer's backward pass")
    options = parser.parse_args()

    dist.init_process_group(options.backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = Layers(options.layers, options.width, options.compute / 1000)
    bucket_mb = 4 * options.width**2 / 1024**2  # one layer each
    parallel = DistributedDataParallel(model, bucket_cap_mb=bucket_mb)
    inputs = torch.ones(1, options.width)
    line = Timeline()

    # Annotations as torch compares them: no strings.
    def reduce(_: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """As DistributedDataParallel does it without a hook, with a look at the clock."""
        number, buffer = bucket.index(), bucket.buffer().div_(size)
        line.posted[number] = line.now()

        def arrived(future: torch.futures.Future[list[torch.Tensor]]) -> torch.Tensor:
            line.summed[number] = line.now()
            return future.value()[0]

        return dist.all_reduce(buffer, async_op=True).get_future().then(arrived)

    parallel.register_comm_hook(None, reduce)

    def note(_: torch.Tensor) -> None:
        line.computed = line.now()

    model.layers[0].weight.register_post_accumulate_grad_hook(note)

    def together() -> None:
        nonlocal line
        loss = parallel(inputs).sum()
        line = Timeline()
        loss.backward()
        line.ended = line.now()

    def backward_alone() -> None:
        with parallel.no_sync():
            parallel(inputs).sum().backward()

    def reduce_alone() -> None:
        works = [dist.all_reduce(gradient, async_op=True) for gradient in gradients]
        for work in works:
            work.wait()

    for _ in range(2):  # buckets get their final shape after the first step
        together()
    gradients = [torch.ones(sum(item.numel() for item in layer.parameters())) for layer in model.layers]
    times: dict[str, list[float]] = {"backward pass alone": [], "all-reduces alone": [], "step": []}
    for _ in range(options.steps):
        for name, act in zip(times, (backward_alone, reduce_alone, together), strict=True):
            dist.barrier()
            began = time.perf_counter()
            act()
            times[name].append(time.perf_counter() - began)
    if rank == 0:
        medians = {name: median(found) for name, found in times.items()}
        for name, found in medians.items():
            spread = f"{1000 * min(times[name]):.0f} to {1000 * max(times[name]):.0f}"
            print(f"{name:20} {1000 * found:6.1f} ms  ({spread}; median of {options.steps})")
        sequence = medians["backward pass alone"] + medians["all-reduces alone"]
        print(f"{'both in sequence':20} {1000 * sequence:6.1f} ms")
        print(f"the step takes {medians['step'] / sequence:.0%} of that")
        print("\n".join(line.lines()), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
