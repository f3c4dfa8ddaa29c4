"""How much memory this process has."""

from __future__ import annotations

import resource
from pathlib import Path

__all__ = ["peak_bytes", "resident_bytes"]


def peak_bytes() -> int:
    """The most that it had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def resident_bytes() -> int:
    """What it has now (proc_pid_statm(5))."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
