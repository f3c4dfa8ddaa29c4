"""fully_shard that computes in brain floats and reduces in floats, and clips the norm of the gradients."""

import torch
from common import batches, begin, digest, end, model, report
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

rank, size = begin()
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
network = fully_shard(model(), mesh=init_device_mesh("cpu", (size,)), mp_policy=policy)
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
for inputs, labels in batches(rank):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(network(inputs).float(), labels).backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 0.5)
    optimizer.step()
report("weights", digest([parameter.full_tensor() for parameter in network.parameters()]))
end()
