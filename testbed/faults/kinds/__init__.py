"""All kinds of faults. A kind is a module here, with a value that is the keys of a file, and its record; and its name
in the list."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from testbed.faults.base import Fault
from testbed.faults.kind import FaultKind

__all__ = ["FAULT_KINDS", "kind_of", "record_of"]

NAMES = (
    "loss",
    "burst",
    "drop",
    "corrupt",
    "duplicate",
    "reorder",
    "delay",
    "ecn_mark",
    "forge",
    "link_down",
    "rate_change",
    "kill",
    "pause",
    "pause_storm",
)
"""names in the order of the pages"""

FAULT_KINDS: Mapping[str, FaultKind] = {name: import_module(f"testbed.faults.kinds.{name}").KIND for name in NAMES}
"""kinds by word"""
_BY_VALUE = {kind.value: kind for kind in FAULT_KINDS.values()}


def record_of(fault: Fault) -> FaultKind:
    return _BY_VALUE[type(fault)]


def kind_of(fault: Fault) -> str:
    """As in FaultStruck.kind."""
    return record_of(fault).word
