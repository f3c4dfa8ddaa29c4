"""When a fault acts, and how it heals: a fault's type says both."""

from __future__ import annotations

from testbed.faults.base import Fault, LinkFault, NodeFault, Window
from testbed.faults.kinds import kind_of
from testbed.faults.kinds.link_down import LinkDown

__all__ = ["heals_at", "is_active", "kind_of", "windows_of"]


def heals_at(fault: Fault) -> int | None:
    """ns since the start of the traffic from when on the fault acts no more; None: it stays until the end of the
    run."""
    window = _window(fault)
    if window.stop_ns is None:
        return None
    if isinstance(fault, LinkDown) and fault.count > 1:
        return window.stop_ns + (fault.count - 1) * fault.period_ns
    return window.stop_ns


def windows_of(fault: Fault) -> tuple[tuple[int, int], ...]:
    """(from, until) in ns since the start of the traffic, each flap by itself; empty: it stays until the end of the
    run."""
    window = _window(fault)
    if window.stop_ns is None:
        return ()
    count, period_ns = (fault.count, fault.period_ns) if isinstance(fault, LinkDown) else (1, 0)
    return tuple((window.start_ns + n * period_ns, window.stop_ns + n * period_ns) for n in range(count))


def is_active(fault: Fault, now: int) -> bool:
    """Whether `now` (ns since the start of the traffic) lies in the fault's window, or in one of its flaps."""
    window = _window(fault)
    since = now - window.start_ns
    if since < 0:
        return False
    if window.stop_ns is None:
        return True
    length = window.stop_ns - window.start_ns
    if isinstance(fault, LinkDown) and fault.count > 1 and fault.period_ns > 0:
        turn = min(since // fault.period_ns, fault.count - 1)
        return since - turn * fault.period_ns < length
    return since < length


_WITH_WINDOW = LinkFault | NodeFault


def _window(fault: Fault) -> Window:
    if isinstance(fault, _WITH_WINDOW):
        return fault.window
    raise TypeError(f"{type(fault).__name__} has no window")
