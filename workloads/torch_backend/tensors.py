"""Tensors as collectives take them: checked at the call, read and written outside of autograd."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

__all__ = ["blocks", "contents", "dtype_of", "only", "readable", "shape_of", "writable", "write", "writing"]

Tensors = Sequence[torch.Tensor]


def only(tensors: Tensors, what: str) -> torch.Tensor:
    """Raises ValueError for anything but one tensor."""
    if len(tensors) != 1:
        raise ValueError(f"the backend ina does {what} on one tensor at a time, and was given {len(tensors)}")
    return tensors[0]


def readable(tensors: Tensors, what: str) -> list[torch.Tensor]:
    """Raises ValueError for anything but dense tensors in the processor's memory, and for none."""
    if not tensors:
        raise ValueError(f"the backend ina was given no tensor for {what}")
    for tensor in tensors:
        if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_nested:
            layout = "nested" if tensor.is_nested else tensor.layout
            raise ValueError(
                f"the backend ina does {what} on dense tensors in the processor's memory. This tensor is on "
                f"{tensor.device} with layout {layout}: move it with .cpu() or .to_dense()"
            )
    return list(tensors)


def writable(tensors: Tensors, what: str) -> list[torch.Tensor]:
    """As `readable`. Raises ValueError also where elements of a tensor share memory, so that it cannot hold every
    result."""
    for tensor in readable(tensors, what):
        if _overlaps(tensor):
            raise ValueError(
                f"{what} writes to a tensor of shape {list(tensor.shape)} and strides {list(tensor.stride())}, whose "
                "elements share memory (as after .expand()). Give it a copy made by .clone() or .contiguous()"
            )
    return list(tensors)


def shape_of(tensors: Tensors) -> str:
    """Shapes for a person: `2 x 3`, `4 times 10`, `3, 5`."""
    shapes = [" x ".join(f"{size:,}" for size in tensor.shape) or "scalar" for tensor in tensors]
    if len(shapes) > 1 and len(set(shapes)) == 1:
        return f"{len(shapes)} times {shapes[0]}"
    return ", ".join(shapes)


def dtype_of(tensors: Tensors) -> str:
    """Types of all of them: `float32`, `float32, int64`."""
    return ", ".join(dict.fromkeys(str(tensor.dtype).removeprefix("torch.") for tensor in tensors))


def contents(tensor: torch.Tensor) -> torch.Tensor:
    """The elements, contiguous, in memory that holds nothing else, outside of autograd."""
    with torch.no_grad():
        return tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)


@contextmanager
def writing(target: torch.Tensor) -> Iterator[None]:
    """Where autograd does not notice what happens to the tensor."""
    with torch.inference_mode(target.is_inference()), torch.no_grad():
        yield


def write(target: torch.Tensor, value: torch.Tensor) -> None:
    """Raises ValueError for other elements than the target has."""
    if (target.dtype, target.numel()) != (value.dtype, value.numel()):
        raise ValueError(
            f"{value.numel()} elements of {dtype_of([value])} came for a tensor of {target.numel()} elements of "
            f"{dtype_of([target])}"
        )
    with writing(target):
        target.copy_(value.view(target.shape))


def blocks(tensor: torch.Tensor, count: int, what: str) -> list[torch.Tensor]:
    """Views of its memory, flat, one for each rank. Raises ValueError where there are none."""
    if tensor.numel() % count:
        raise ValueError(f"{what} cannot divide {tensor.numel()} elements among {count} ranks")
    if not tensor.is_contiguous():
        raise ValueError(f"{what} needs a contiguous tensor, and was given strides {list(tensor.stride())}")
    with writing(tensor):
        rows = tensor.detach().reshape(count, tensor.numel() // count)
        return [rows[rank] for rank in range(count)]


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether two elements may lie in the same memory: no stride reaches beyond all smaller ones."""
    reach = 0
    if not tensor.numel():
        return False
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False
