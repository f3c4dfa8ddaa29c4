"""How busy the machine is, for any reason: proc(5) /proc/stat, and the kernel's account of pressure (PSI) where there
is one."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MachineReading", "crowd", "processors", "read_machine"]

_STAT, _PRESSURE = Path("/proc/stat"), Path("/proc/pressure/cpu")
_USER, _NICE, _SYSTEM, _IRQ, _SOFTIRQ, _STEAL = 0, 1, 2, 5, 6, 7
"""columns of the line `cpu`"""
_LOOKS, _LOOK_EVERY_S = 50, 0.01


@dataclass(frozen=True, slots=True)
class MachineReading:
    """Sums since the machine started, over all its processors, in ns."""

    at_ns: int
    """CLOCK_MONOTONIC"""
    busy_ns: int
    """processors ran something"""
    stolen_ns: int
    """the hypervisor ran something else"""
    pressure_ns: int | None
    """some task was ready to run and had no processor; None: the kernel keeps no such account"""


def read_machine(stat: Path = _STAT, pressure: Path = _PRESSURE) -> MachineReading | None:
    """None where there is no such file."""
    try:
        words = stat.read_text(encoding="ascii").splitlines()[0].split()
        ticks = [int(word) for word in words[1:]]
        tick_ns = 10**9 // os.sysconf("SC_CLK_TCK")
        busy = sum(ticks[column] for column in (_USER, _NICE, _SYSTEM, _IRQ, _SOFTIRQ))
        stolen = ticks[_STEAL]
    except (OSError, ValueError, IndexError):
        return None
    return MachineReading(time.monotonic_ns(), busy * tick_ns, stolen * tick_ns, _pressure_ns(pressure))


def _pressure_ns(file: Path) -> int | None:
    try:
        found = re.search(r"^some .*\btotal=(\d+)", file.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else int(found[1]) * 1000


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def crowd(stat: Path = _STAT, sleep: Callable[[float], None] = time.sleep) -> float:
    """How many tasks of other processes run or wait to run per processor, on average over half a second. 0 where the
    kernel does not count them."""
    found = []
    for _ in range(_LOOKS):
        sleep(_LOOK_EVERY_S)
        try:
            counted = re.search(r"^procs_running (\d+)$", stat.read_text(encoding="ascii"), re.MULTILINE)
        except OSError:
            return 0.0
        if counted is None:
            return 0.0
        found.append(int(counted[1]) - 1)  # this process runs while it looks
    return max(0.0, sum(found) / len(found)) / processors()
