"""Trainings that shard less than FSDP2 by default: ZeRO of stages 1 and 2, and hybrid shards. Each reference fits one
process.

- `zero1`: DistributedDataParallel; each rank holds the optimizer's state of some parameters, and broadcasts them.
- `zero2`: fully_shard that keeps the parameters after the forward pass.
- `hybrid`: fully_shard in each of two groups of ranks (HSDP). A reduce-scatter in a group is followed by an all-reduce
  between the groups, whose sums of two have one order.
"""

import argparse

import fsdp_program
import program
import torch
from torch import nn

REPLICAS = 2


def zero1(steps):
    import torch.distributed as dist
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    counted = fsdp_program.count_store()
    dist.init_process_group("ina")
    model, stream, losses = program.make_model(), program.batches(dist.get_rank()), []
    network = DistributedDataParallel(model)
    optimizer = ZeroRedundancyOptimizer(network.parameters(), torch.optim.SGD, lr=0.2, momentum=0.9)
    for _ in range(steps):
        inputs, labels = next(stream)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    fsdp_program.report(losses, program.digest(model), counted)


def zero2(steps):
    fsdp_program.train(steps, reshard_after_forward=False)


def hybrid(steps):
    def make_mesh():
        import torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh

        return init_device_mesh(
            "cpu", (REPLICAS, dist.get_world_size() // REPLICAS), mesh_dim_names=("replicate", "shard")
        )

    fsdp_program.train(steps, make_mesh)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sharding", choices=("zero1", "zero2", "hybrid"))
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    {"zero1": zero1, "zero2": zero2, "hybrid": hybrid}[options.sharding](options.steps)


if __name__ == "__main__":
    main()
