"""Ranks of the backend in one process: a thread for each, a store that they share, a simulated network."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace

import torch
import torch.distributed as dist

from tests.testbed.train.fabric import SIZE, Fabric
from workloads.torch_backend.group import InaGroup
from workloads.torch_backend.membership import Membership
from workloads.torch_backend.runner import Runner

__all__ = ["SIZE", "Members", "broadcast", "options"]


def options(kind, **values):
    """Of a collective, as torch gives them: `options(dist.BroadcastOptions, rootRank=1)`."""
    made = kind()
    for name, value in values.items():
        setattr(made, name, timedelta(seconds=value) if name == "timeout" else value)
    return made


def broadcast(group, value, root=1):
    tensor = torch.tensor([float(value)], dtype=torch.float64)
    group.broadcast([tensor], options(dist.BroadcastOptions, rootRank=root)).wait()
    return tensor.item()


class Members:
    """`SIZE` ranks; `store` of all groups unless a group is made with another."""

    def __init__(self, folder, *, timeout_s=20.0, **fabric):
        self.fabric = Fabric(folder, timeout_s=timeout_s, **fabric)
        self.ranks = [
            SimpleNamespace(
                number=rank, size=SIZE, client=self.fabric.rank(rank), runner=Runner(), groups=[], kept_store=None
            )
            for rank in range(SIZE)
        ]
        self.store = dist.HashStore()
        self._threads = ThreadPoolExecutor(SIZE)

    def group(self, ranks=tuple(range(SIZE)), *, name="0", store=None, timeout_s=1800.0):
        """Made by all of these ranks: theirs, by rank of the training."""

        def make(rank):
            return InaGroup(Membership(store or self.store, name, ranks, timeout_s, self.ranks[rank]))

        return self.each(make, ranks)

    def each(self, do, ranks=range(SIZE)):
        """What `do(rank)` returns or raises in the thread of each rank."""

        def found(rank):
            try:
                return do(rank)
            except Exception as error:
                return error

        return dict(zip(ranks, self._threads.map(found, ranks), strict=True))

    def close(self):
        self._threads.shutdown()
        for rank in self.ranks:
            rank.client.leave("the test is over")
        self.fabric.close()
