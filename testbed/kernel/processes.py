"""Processes by identity: a pid alone may belong to another process by now, a pid with its start time does not."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "HOST_NICE",
    "SWITCH_NICE",
    "ProcessId",
    "boot_id",
    "child_setup",
    "descendants",
    "die_with_parent",
    "end_processes",
    "identify",
    "is_alive",
    "name_process",
    "pid_namespace",
    "send_signal",
    "take_precedence",
    "take_turns_first",
]

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
"""include/uapi/linux/prctl.h"""
_ORPHANED_STATUS = 70
SWITCH_NICE = -15
_RT_MOST_US = 500_000
"""processor time without a sleep, after which a process loses its real-time scheduling"""
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class ProcessId:
    pid: int
    start: int
    """clock ticks since boot, field 22 of /proc/PID/stat (proc(5))"""


def identify(pid: int) -> ProcessId | None:
    """None when there is no such process."""
    fields = _stat(pid)
    return ProcessId(pid, int(fields[19])) if fields else None


def descendants(pid: int) -> list[ProcessId]:
    """All that live below a process now, as far as no link of the chain has ended."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += [process for child in below if (process := identify(child)) is not None]
        waiting += below
    return found


def is_alive(process: ProcessId) -> bool:
    """False also for a zombie: it holds nothing any more, and only its parent can remove it."""
    fields = _stat(process.pid)
    return fields is not None and int(fields[19]) == process.start and fields[0] not in "ZX"


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the command in brackets, which may hold brackets and blanks itself.
    return text.rpartition(")")[2].split()


def send_signal(process: ProcessId, number: int) -> bool:
    """Signal exactly this process; False when it is gone. The pidfd pins the identity between check and signal."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if not is_alive(process):
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def end_processes(processes: Iterable[ProcessId], timeout_s: float = 3.0) -> list[ProcessId]:
    """SIGKILL all, then wait until they are gone; returns those that were alive and are gone now."""
    victims = [process for process in processes if send_signal(process, signal.SIGKILL)]
    deadline = time.monotonic() + timeout_s
    waiting = list(victims)
    while waiting and time.monotonic() < deadline:
        waiting = [process for process in waiting if is_alive(process)]
        if waiting:
            _wait_for(waiting[0], deadline)
    return [process for process in victims if process not in waiting]


def _wait_for(process: ProcessId, deadline: float) -> None:
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        poller.poll(min(50, max(0, int((deadline - time.monotonic()) * 1000))))
    finally:
        os.close(handle)


def die_with_parent(parent: int) -> None:
    """For a fresh child: be killed when the thread that forked us ends, however it ends. `parent` is that process."""
    if _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        # It ended before the request took effect: nobody would ever send the signal.
        os._exit(_ORPHANED_STATUS)


def name_process(name: str) -> None:
    """What ps and top show for this process; 15 bytes at most."""
    _libc.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)


HOST_NICE = -10
"""before whatever else runs on the machine, behind switches"""


def take_precedence(nice: int = SWITCH_NICE) -> None:
    """A switch has hardware of its own. On a busy machine it must not wait for its turn among the hosts, nor hosts
    among other processes. Where sessions share the processor by groups (sched(7), autogroup), a nice value counts
    inside the session only, so the group gets it too. For a process that leads a session of its own. Raises
    PermissionError without CAP_SYS_NICE."""
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(nice))


def take_turns_first(priority: int) -> None:
    """Real-time scheduling (sched(7)) for a process that sleeps most of the time. It gets a processor as soon as it is
    ready, however many other processes want one. A process that computes for longer than _RT_MOST_US without a sleep
    loses it for good. Where this machine does not allow it, the process keeps its nice value."""

    def give_back(*_: object) -> None:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    signal.signal(signal.SIGXCPU, give_back)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_RTTIME, (_RT_MOST_US, resource.RLIM_INFINITY))
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(priority))


def child_setup(parent: int, record: Callable[[ProcessId], None]) -> None:
    """First steps of every process that we start: bind its life to ours, then let it enter itself into the ledger. So
    no moment exists at which it lives, is not in the ledger and would outlive us."""
    die_with_parent(parent)
    process = identify(os.getpid())
    if process is not None:
        record(process)


def boot_id() -> str:
    """Start times count from this boot only."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def pid_namespace() -> int:
    """Inode of our pid namespace: pids of another one mean nothing here."""
    return os.stat("/proc/self/ns/pid").st_ino
