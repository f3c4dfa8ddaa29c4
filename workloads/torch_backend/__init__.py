"""The backend `ina` of torch.distributed: float32 sums go through the network of a scenario, everything else through
the store of the rendezvous (docs/training.md). `import torch` loads it, by an entry point of the group
`torch.backends`."""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["register"]


def register() -> None:
    """For torch's autoload: make `dist.init_process_group("ina")` known. Twice does no harm."""
    import torch.distributed as dist

    if not dist.is_available() or hasattr(dist.Backend, "INA"):
        return
    from torch.distributed import distributed_c10d

    from workloads.torch_backend.group import InaGroup, make_group

    dist.Backend.register_backend("ina", make_group, extended_api=True, devices=["cpu"])
    of_torch = distributed_c10d.monitored_barrier

    @functools.wraps(of_torch)
    def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        found = dist.group.WORLD if group is None else group
        if isinstance(found, InaGroup):
            found.monitored_barrier(timeout, wait_all_ranks)
        else:
            of_torch(group, timeout, wait_all_ranks)

    # That of torch refuses every backend but gloo.
    dist.monitored_barrier = distributed_c10d.monitored_barrier = monitored_barrier
