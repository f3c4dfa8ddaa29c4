"""Run one check in a child process, with a network namespace that goes with it, within bounded time."""

from __future__ import annotations

import json
import os
import select
import signal
import time

from testbed.doctor.model import Check, ProbeFailed
from testbed.kernel.namespaces import unshare_network
from testbed.kernel.processes import die_with_parent

__all__ = ["run_check", "run_isolated"]

_DETAIL_LIMIT = 200


def run_check(check: Check) -> tuple[bool, str]:
    """(ok, detail); never raises."""
    try:
        return True, check()
    except (Exception, SystemExit) as error:
        return False, describe(error)


def describe(error: BaseException) -> str:
    if isinstance(error, ProbeFailed):
        return str(error)
    code = getattr(error, "code", None)
    if isinstance(code, int) and code > 0:
        # pyroute2's NetlinkError
        return f"the kernel says: {os.strerror(code)}"
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:_DETAIL_LIMIT]


def run_isolated(check: Check, timeout_s: float = 20.0) -> tuple[bool, str]:
    """As `run_check`, in a fresh network namespace. The child is killed after `timeout_s`."""
    parent = os.getpid()
    read, write = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _answer(check, parent, write)
    os.close(write)
    try:
        answer = _collect(read, time.monotonic() + timeout_s)
    finally:
        os.close(read)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if answer is None:
        return False, f"no answer within {timeout_s:g} s, or the probe crashed"
    ok, detail = json.loads(answer)
    return bool(ok), str(detail)


def _answer(check: Check, parent: int, write: int) -> None:
    try:
        die_with_parent(parent)
        null = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(null, handle)
        try:
            unshare_network()
        except OSError as error:
            result = (False, f"no network namespace: {error.strerror}")
        else:
            result = run_check(check)
        os.write(write, json.dumps(result).encode())
    finally:
        os._exit(0)


def _collect(read: int, deadline: float) -> bytes | None:
    """Everything until the other end closes; None when that does not come in time or nothing was said."""
    data = b""
    poller = select.poll()
    poller.register(read, select.POLLIN)
    while True:
        if not poller.poll(max(0, int((deadline - time.monotonic()) * 1000))):
            return None
        part = os.read(read, 65_536)
        if not part:
            return data or None
        data += part
