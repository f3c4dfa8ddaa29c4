"""How long this thread was ready to run and did not: the scheduler's own account of a busy machine."""

from __future__ import annotations

from pathlib import Path

__all__ = ["read_waits"]

_ACCOUNT = Path("/proc/thread-self/schedstat")


def read_waits(account: Path = _ACCOUNT) -> tuple[int, int]:
    """(ns on a run queue, how often it was put on a CPU) of the calling thread since its start; sched(7), schedstat. A
    stopped process (SIGSTOP) does not wait. (0, 0) where the kernel keeps no such account."""
    try:
        _, waited_ns, turns = map(int, account.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return 0, 0
    return waited_ns, turns
