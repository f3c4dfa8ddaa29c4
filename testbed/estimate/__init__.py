"""What a scenario needs of this machine, before it runs: memory, and the dilation that makes its times correct."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from testbed.estimate.memory import MemoryNeed, memory_need, require_memory

__all__ = ["MemoryNeed", "memory_need", "require_memory"]

__getattr__ = lazily(
    __name__,
    {
        "MemoryNeed": ".memory",
        "memory_need": ".memory",
        "require_memory": ".memory",
    },
)
