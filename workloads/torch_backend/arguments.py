"""What callers give collectives of torch, checked at the call."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch

from workloads.torch_backend.tensors import dtype_of

__all__ = ["fit", "limit_of", "only_list", "rows_of", "seconds"]

Lists = Sequence[Sequence[torch.Tensor]]


def only_list(lists: Lists, what: str) -> Sequence[torch.Tensor]:
    """Raises ValueError for other than one list."""
    if len(lists) != 1:
        raise ValueError(f"the backend ina does {what} on one list of tensors, and was given {len(lists)}")
    return lists[0]


def fit(targets: Sequence[torch.Tensor], values: Sequence[torch.Tensor], what: str) -> None:
    """Raises ValueError where a value does not fit the tensor that it is for."""
    if len(targets) != len(values):
        raise ValueError(f"{what} was given {len(values)} tensors for {len(targets)}")
    for target, value in zip(targets, values, strict=True):
        if (target.dtype, target.numel()) != (value.dtype, value.numel()):
            raise ValueError(
                f"{what} cannot put {value.numel()} elements of {dtype_of([value])} into a tensor of "
                f"{target.numel()} elements of {dtype_of([target])}"
            )


def rows_of(tensor: torch.Tensor, sizes: Sequence[int], count: int) -> list[torch.Tensor]:
    """Views of a tensor, cut along its first dimension. Raises ValueError where that cannot be."""
    rows = len(tensor) if tensor.dim() else 0
    if not sizes:
        if not tensor.dim() or rows % count:
            raise ValueError(f"all_to_all cannot divide a tensor of shape {list(tensor.shape)} among {count} ranks")
        sizes = [rows // count] * count
    if len(sizes) != count or sum(sizes) != rows or min(sizes) < 0:
        raise ValueError(f"all_to_all cannot cut {rows} rows into {list(sizes)} for {count} ranks")
    return list(tensor.split(list(sizes)))


def seconds(timeout: timedelta) -> float:
    """That a group may wait. Raises ValueError."""
    if timeout <= timedelta(0):
        raise ValueError(
            f"a process group of ina was given a timeout of {timeout.total_seconds():g} s; allowed: above 0"
        )
    return timeout.total_seconds()


def limit_of(opts: Any) -> float:
    """Time limit of the call, in seconds; 0: that of the group."""
    timeout = getattr(opts, "timeout", None)
    return max(0.0, timeout.total_seconds()) if isinstance(timeout, timedelta) else 0.0
