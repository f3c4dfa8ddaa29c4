"""The ring all-reduce of the tutorial on writing distributed applications."""

import torch
import torch.distributed as dist
from common import begin, end, report

rank, size = begin()
left, right = (rank - 1) % size, (rank + 1) % size
total, sent, received = torch.full((3,), rank + 1.0), torch.full((3,), rank + 1.0), torch.zeros(3)
for _ in range(size - 1):
    request = dist.isend(sent, right)
    dist.recv(received, left)
    total += received
    request.wait()
    sent = received.clone()
report("total", total.tolist())
operations = [dist.P2POp(dist.irecv, received, left), dist.P2POp(dist.isend, torch.full((3,), float(rank)), right)]
for request in dist.batch_isend_irecv(operations):
    request.wait()
report("batch", received.tolist())
if rank == 0:
    report("any source", dist.recv(received))
elif rank == 1:
    dist.send(total, 0)
end()
