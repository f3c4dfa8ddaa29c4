"""When a fault acts, and how it heals: a fault's type says both."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.faults.model import (
    Burst,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    EcnMark,
    Fault,
    Forge,
    Kill,
    LinkDown,
    Loss,
    NodeFault,
    PacketFault,
    Pause,
    RateChange,
    Reorder,
    Window,
)

__all__ = ["HEALING", "heals_at", "is_active", "kind_of", "windows_of"]

_KINDS: Mapping[type[Fault], str] = {
    Loss: "loss",
    Burst: "burst",
    Drop: "drop",
    Corrupt: "corrupt",
    Duplicate: "duplicate",
    Reorder: "reorder",
    Delay: "delay",
    EcnMark: "ecn_mark",
    Forge: "forge",
    LinkDown: "link_down",
    RateChange: "rate_change",
    Kill: "kill",
    Pause: "pause",
}

HEALING: Mapping[str, str] = {
    "loss": "frames pass again; RC resends what was lost",
    "burst": "frames pass again; RC resends what was lost",
    "drop": "frames pass again; RC resends what was lost",
    "corrupt": "frames pass unaltered; a stale iCRC makes the receiver drop, then RC resends; a repaired one stays",
    "duplicate": "no more copies; the receiver ignores the ones that came",
    "reorder": "held frames leave at their time; RC resends what their absence made the receiver refuse",
    "delay": "later frames wait until the delayed ones have left, then the link is as fast as before",
    "ecn_mark": "frames keep their ECN field",
    "forge": "no more forged frames; what they broke stays broken",
    "link_down": "the link carries frames again; RC resends what was lost",
    "rate_change": "the link gets its own rate back",
    "kill": "the node starts anew with empty state",
    "pause": "the node goes on where it stood",
}
"""What happens when the window of a fault of that kind ends."""


def kind_of(fault: Fault) -> str:
    """As in FaultStruck.kind."""
    return _KINDS[type(fault)]


def heals_at(fault: Fault) -> int | None:
    """ns since the start of the traffic from when on the fault acts no more; None: it stays until the end of the run."""
    window = _window(fault)
    if window.stop_ns is None:
        return None
    if isinstance(fault, LinkDown) and fault.count > 1:
        return window.stop_ns + (fault.count - 1) * fault.period_ns
    return window.stop_ns


def windows_of(fault: Fault) -> tuple[tuple[int, int], ...]:
    """(from, until) in ns since the start of the traffic, each flap by itself; empty: it stays until the end of the run."""
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


def _window(fault: Fault) -> Window:
    if isinstance(fault, PacketFault | RateChange | NodeFault):
        return fault.window
    raise TypeError(f"{type(fault).__name__} has no window")
