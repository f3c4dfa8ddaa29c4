"""torch.distributed.checkpoint: each rank saves and loads its part of a sharded model."""

import shutil
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from common import begin, digest, end, model, report, train
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

rank, size = begin()
mesh = init_device_mesh("cpu", (size,))
network = fully_shard(model(), mesh=mesh)
train(network, torch.optim.SGD(network.parameters(), lr=0.1), rank)
folder = [tempfile.mkdtemp() if rank == 0 else None]
dist.broadcast_object_list(folder, src=0)
checkpoint.save(get_model_state_dict(network), checkpoint_id=folder[0])
other = fully_shard(model(), mesh=mesh)
state = get_model_state_dict(other)
checkpoint.load(state, checkpoint_id=folder[0])
set_model_state_dict(other, state)
report("weights", digest([parameter.full_tensor() for parameter in other.parameters()]))
dist.barrier()
if rank == 0:
    shutil.rmtree(folder[0])
end()
