"""Tensors as the bytes of a collective in the network, one behind the other."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from workloads.torch_backend.tensors import contents, write

__all__ = ["bytes_of", "pack", "unpack", "words_for"]

Tensors = Sequence[torch.Tensor]
_WORD = 4


def bytes_of(tensors: Tensors) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def words_for(tensors: Tensors) -> int:
    """4-byte words that hold them."""
    return -(-bytes_of(tensors) // _WORD)


def pack(memory: memoryview, tensors: Tensors) -> None:
    """`memory` is at least as long as they are."""
    at = 0
    for tensor in tensors:
        data = contents(tensor).reshape(-1).view(torch.uint8)
        if len(data):
            torch.frombuffer(memory, dtype=torch.uint8, offset=at, count=len(data)).copy_(data)
        at += len(data)


def unpack(memory: memoryview, targets: Tensors) -> None:
    """Raises as `write`."""
    at = 0
    for target in targets:
        size = bytes_of([target])
        if size:
            # A copy lies where elements of every type may lie.
            data = torch.frombuffer(memory, dtype=torch.uint8, offset=at, count=size).clone()
            write(target, data.view(target.dtype))
        at += size
