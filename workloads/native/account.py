"""Which code a run takes: the C core, or the Python reference and why. A result that does not say so could be had by
either."""

from __future__ import annotations

from collections.abc import Sequence

from workloads.native.build import library_status, native_status
from workloads.native.compiled import compiled_status
from workloads.native.places import NativeStatus

__all__ = ["COMPILED", "NATIVE", "account_of", "failures"]

COMPILED = "compiled modules"
"""the name of those of `workloads.native.compiled` among libraries"""

NATIVE = "native"
"""what `account_of` says when every library runs"""


def account_of(libraries: Sequence[str]) -> str:
    """How these libraries run (names of `LIBRARIES`, or COMPILED): `native`, `python (WHY)`, or `native, but python for
    NAMES (WHY)`."""
    status = {name: _status(name) for name in libraries}
    lacking = [name for name in libraries if not status[name].available]
    if not lacking:
        return NATIVE
    why = "; ".join(dict.fromkeys(_why(status[name].detail, status[name].failed) for name in lacking))
    if len(lacking) == len(libraries):
        return f"python ({why})"
    return f"native, but python for {', '.join(lacking)} ({why})"


def _status(name: str) -> NativeStatus:
    return compiled_status() if name == COMPILED else library_status(name)


def failures() -> dict[str, str]:
    """Library -> what its compiler said first, of all that a compiler is there for and fails."""
    return {name: status.detail for name, status in native_status().items() if status.failed}


def _why(detail: str, failed: bool) -> str:
    return f"the C core cannot be built: {detail}" if failed else detail
