"""All kinds of faults. A kind is a module here, with a value that is the keys of a file, and its record; and one line in the list."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.faults.base import Fault
from testbed.faults.kind import FaultKind
from testbed.faults.kinds import (
    burst,
    corrupt,
    delay,
    drop,
    duplicate,
    ecn_mark,
    forge,
    kill,
    link_down,
    loss,
    pause,
    rate_change,
    reorder,
)

__all__ = ["FAULT_KINDS", "kind_of", "record_of"]

_MODULES = (
    loss,
    burst,
    drop,
    corrupt,
    duplicate,
    reorder,
    delay,
    ecn_mark,
    forge,
    link_down,
    rate_change,
    kill,
    pause,
)

FAULT_KINDS: Mapping[str, FaultKind] = {module.KIND.word: module.KIND for module in _MODULES}
"""by word"""
_BY_VALUE = {kind.value: kind for kind in FAULT_KINDS.values()}


def record_of(fault: Fault) -> FaultKind:
    return _BY_VALUE[type(fault)]


def kind_of(fault: Fault) -> str:
    """As in FaultStruck.kind."""
    return record_of(fault).word
