"""Distributed tensors: shard, replicate, redistribute, multiply."""

import torch
from common import begin, digest, end, report
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

rank, size = begin()
mesh = init_device_mesh("cpu", (size,))
left, right = torch.randn(8, 6), torch.randn(6, 10)
rows, columns = distribute_tensor(left, mesh, [Shard(0)]), distribute_tensor(right, mesh, [Shard(1)])
report("sharded", digest([rows.to_local()]))
report("product", digest([(rows @ columns.redistribute(mesh, [Replicate()])).full_tensor()]))
inner = distribute_tensor(left, mesh, [Shard(1)]) @ distribute_tensor(right, mesh, [Shard(0)])
report("placement", isinstance(inner.placements[0], Partial))
report("sum", digest([inner.full_tensor()]))
report("moved", digest([rows.redistribute(mesh, [Shard(1)]).to_local()]))
end()
