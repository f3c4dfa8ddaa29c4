"""The switch program for a plain parameter server: sums on the way up, copies of results on the way down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from switch_nodes.ps.program import PsProgram

__all__ = [
    "PsProgram",
]

__getattr__ = lazily(__name__, dict.fromkeys(__all__, ".program"))
