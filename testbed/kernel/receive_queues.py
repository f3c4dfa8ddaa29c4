"""Which processor handles what an interface receives: one alone, so that frames stay in order.

A veth hands a frame to the backlog of the processor that its sender happens to run on (net/core/dev.c: netif_rx). The
backlogs of two processors are independent. A sender that moves, or whose qdisc another processor serves, may so be
overtaken by its own later frames, which no link does. Receive packet steering (Documentation/networking/ scaling.rst)
with a mask of one processor puts all frames of an interface into the backlog of that one.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["may_receive_on", "processor_for", "receive_all_on", "receive_on"]

_DEFAULT = Path("/proc/sys/net/core/rps_default_mask")
"""Documentation/admin-guide/sysctl/net.rst; of a namespace since Linux 6.3"""


def processor_for(number: int) -> int:
    """Of those that we may run on, in turn."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[number % len(usable)]


def may_receive_on(interface: str) -> bool:
    """Whether the kernel has the setting (CONFIG_RPS) and lets us change it, at an interface that our sysfs shows."""
    return bool(_settings(Path("/"), interface))


def receive_on(pid: int, interface: str, processor: int) -> bool:
    """`pid`: a process that sees the sysfs of the interface's namespace. False where the setting is missing, or is not
    to be written. Raises OSError when the kernel refuses."""
    settings = _settings(Path("/proc", str(pid), "root"), interface)
    for setting in settings:
        setting.write_text(_spelled(1 << processor), encoding="ascii")
    return bool(settings)


def _settings(root: Path, interface: str) -> list[Path]:
    queues = sorted((root / "sys/class/net" / interface / "queues").glob("rx-*"))
    return [queue / "rps_cpus" for queue in queues if os.access(queue / "rps_cpus", os.W_OK)]


def receive_all_on(processor: int) -> bool:
    """Of the calling thread's namespace: interfaces made from now on. False where the kernel has no such setting."""
    if not os.access(_DEFAULT, os.W_OK):
        return False
    _DEFAULT.write_text(_spelled(1 << processor), encoding="ascii")
    return True


def _spelled(mask: int) -> str:
    """As bitmap_parse() reads it: groups of 32 bits."""
    groups = []
    while True:
        groups.append(f"{mask & 0xFFFF_FFFF:08x}")
        mask >>= 32
        if not mask:
            return ",".join(reversed(groups))
