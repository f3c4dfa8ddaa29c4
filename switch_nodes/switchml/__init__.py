"""The SwitchML switch program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from switch_nodes.switchml.program import SwitchMlProgram

__all__ = [
    "SwitchMlProgram",
]

__getattr__ = lazily(__name__, dict.fromkeys(__all__, ".program"))
