"""Protocols with a parameter server, as their workers and their server know them.

The folder `workloads/NAME/` of such a protocol has a module `served` with `SERVED`. There is no list of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from workloads.wire.aggregation import MAX_ELEMENTS, Policy

__all__ = ["DTYPES", "ServedKind", "served_kinds"]

DTYPES = ("float32", "int32", "int32sat")
"""what its workers may sum"""


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A protocol with a parameter server, as its workers and its server know it."""

    policy: Policy
    most_elements: int = MAX_ELEMENTS
    """most elements of a packet"""
    server_completes: bool = True
    """the server sees every block complete, so that it knows who goes ahead of the results"""
    names_racks: bool = True
    """a packet names racks, too (`bitmap1`), so that a job may have more workers than `bitmap0` has bits"""


@cache
def served_kinds() -> Mapping[str, ServedKind]:
    """By `JobShare.kind`, in the order of the alphabet."""
    folders = sorted(path.parent.name for path in Path(__file__).parents[1].glob("*/served.py"))
    return {name: import_module(f"workloads.{name}.served").SERVED for name in folders}
