"""Two functions of torch.distributed that do not ask the backend, and must."""

from __future__ import annotations

import functools
import inspect
import os
import re
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d

from workloads.torch_backend.group import InaGroup
from workloads.torch_backend.rank import this_rank

__all__ = ["wrap_calls"]


def wrap_calls() -> None:
    init, signature = distributed_c10d.init_process_group, inspect.signature(distributed_c10d.init_process_group)
    barrier = distributed_c10d.monitored_barrier

    @functools.wraps(init)
    def init_process_group(backend: Any = None, *args: Any, **named: Any) -> None:
        """Ranks that wait for each other in the rendezvous of torch are not seen by any time limit of ours: they meet
        before that."""
        if "ina" in re.split("[:,]", str(backend).lower()):
            values = signature.bind(backend, *args, **named).arguments
            rank, size = (
                int(os.environ.get(variable, -1)) if values.get(name, -1) < 0 else values[name]
                for name, variable in (("rank", "RANK"), ("world_size", "WORLD_SIZE"))
            )
            timeout = values.get("timeout")
            # Torch itself refuses a timeout of another type.
            if rank >= 0 and size > 0 and isinstance(timeout, timedelta | None):
                this_rank(rank, size).meet(0.0 if timeout is None else timeout.total_seconds())
        init(backend, *args, **named)

    @functools.wraps(barrier)
    def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """That of torch refuses every backend but gloo."""
        found = dist.group.WORLD if group is None else group
        if isinstance(found, InaGroup):
            found.monitored_barrier(timeout, wait_all_ranks)
        else:
            barrier(group, timeout, wait_all_ranks)

    for module in (dist, distributed_c10d):
        module.init_process_group, module.monitored_barrier = init_process_group, monitored_barrier
