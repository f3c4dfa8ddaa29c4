"""The ATP and ESA switch programs: one core, two policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from switch_nodes.aggregators.policies import AtpProgram, EsaProgram

__all__ = [
    "AtpProgram",
    "EsaProgram",
]

__getattr__ = lazily(__name__, dict.fromkeys(__all__, ".policies"))
