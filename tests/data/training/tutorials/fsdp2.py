"""Fully sharded data parallelism, version 2: fully_shard."""

import torch
from common import begin, digest, end, model, report, train
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

rank, size = begin()
mesh = init_device_mesh("cpu", (size,))
network = model()
for layer in (network[0], network[2]):
    fully_shard(layer, mesh=mesh)
fully_shard(network, mesh=mesh)
train(network, torch.optim.Adam(network.parameters(), lr=0.01), rank)
report("weights", digest([parameter.full_tensor() for parameter in network.parameters()]))
end()
