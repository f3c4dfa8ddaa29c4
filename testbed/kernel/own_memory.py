"""How much memory this process has (proc_pid_status(5)).

Not `ru_maxrss`: a process begins with that of the process that started it.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["peak_bytes", "resident_bytes"]


def peak_bytes() -> int:
    """The most that it had."""
    return _field("VmHWM")


def resident_bytes() -> int:
    """What it has now."""
    return _field("VmRSS")


def _field(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
