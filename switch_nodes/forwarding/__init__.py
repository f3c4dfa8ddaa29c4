"""L2 forwarding: the program, the same in C, and the queue of frames that both fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from switch_nodes.forwarding.program import ForwardProgram, MacTable, is_link_local

__all__ = [
    "ForwardProgram",
    "MacTable",
    "is_link_local",
]

__getattr__ = lazily(__name__, dict.fromkeys(__all__, ".program"))
