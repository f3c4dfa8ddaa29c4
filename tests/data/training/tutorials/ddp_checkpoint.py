"""Rank 0 saves, all ranks load, and the training goes on."""

import os
import tempfile

import torch
import torch.distributed as dist
from common import begin, digest, end, model, report, train
from torch.nn.parallel import DistributedDataParallel

rank, size = begin()
network = DistributedDataParallel(model())
optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
train(network, optimizer, rank)
folder = [tempfile.mkdtemp() if rank == 0 else None]
dist.broadcast_object_list(folder, src=0)
path = os.path.join(folder[0], "checkpoint.pt")
if rank == 0:
    torch.save({"model": network.state_dict(), "optimizer": optimizer.state_dict()}, path)
dist.barrier()
other = DistributedDataParallel(model())
again = torch.optim.SGD(other.parameters(), lr=0.1, momentum=0.9)
saved = torch.load(path, map_location="cpu", weights_only=True)
other.load_state_dict(saved["model"])
again.load_state_dict(saved["optimizer"])
dist.barrier()
if rank == 0:
    os.remove(path)
    os.rmdir(folder[0])
train(other, again, rank)
report("weights", digest(other.parameters()))
end()
