"""A command that runs code of the user's own, in a child. The process that decides the exit code runs none of that
code. Whatever that code does to the child (end it, kill it, loop without end), the exit code is 0 only where a result
was written."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from testbed.kernel.overdue import LIMIT_S, Overdue, noted_results, share
from testbed.kernel.processes import descendants, die_with_parent, end_processes
from workloads.blame import how_ended
from workloads.errors import ScenarioError

__all__ = ["supervised"]

_PR_SET_CHILD_SUBREAPER = 36
"""include/uapi/linux/prctl.h"""
_TO_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BY_KERNEL = 128
"""si_code of a signal that no process sent: a terminal's, which the child gets, too"""
_leave = os._exit
"""the original `os._exit`, kept before other code can replace it"""
_ASLEEP_S = 5.0
"""a poll that took so long: we were stopped ourselves"""
_LATE_S = 0.2
"""A signal for our process group, which ends the child, has come to us by then."""
_PLACE = re.compile(r'File "([^"]+)", line (\d+) in (\S+)')


def supervised(work: Callable[[], int], code: tuple[str, ...], *, judged: bool) -> int:
    """The exit code that `work` returns in a child process. `code`: the user's own, as `path.py:NAME`; `judged`: 0
    needs a written result. Raises ScenarioError where the child ended without one, or where a call took too long.
    Signals that end a command go to the child, which cleans up; what it leaves of processes is ended. A signal that
    ended the child alone came from that code."""
    cell, parent = share(), os.getpid()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what the code forks is ended with the child
    (source, sink), (places, place) = os.pipe(), os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*_TO_END, signal.SIGCHLD})
    child = os.fork()
    if not child:
        os.close(source)
        os.close(places)
        _work(work, parent, sink, place, mask)
    os.close(sink)
    os.close(place)
    try:
        status, forwarded, late = _await(child, cell)
    finally:
        _end_all(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    with os.fdopen(source, "rb") as answers, os.fdopen(places, "rb") as traces:
        answer, trace = answers.read(), b"" if late is None else traces.read()
    if late is not None:
        raise _too_late(code, trace.decode(errors="replace"))
    if not answer.endswith(b"\n"):
        if forwarded:
            signal.signal(forwarded, signal.SIG_DFL)
            os.kill(parent, forwarded)
        raise ended(code, status)
    word = json.loads(answer)
    if word["code"] == 0 and (judged or word["results"]):
        _require_written(word["results"], code)
    return int(word["code"])


def ended(code: tuple[str, ...], status: int) -> ScenarioError:
    """The user's code ended the process that ran it. `status`: exit code, or minus the number of a signal."""
    file, _, name = code[0].rpartition(":")
    others = "".join(f", or that of {other}" for other in code[1:])
    return ScenarioError(
        f"the code of {name}{others} ended the process that ran it ({how_ended(status)}): no verdict", file=file
    )


def _work(work: Callable[[], int], parent: int, sink: int, place: int, mask: set[int | signal.Signals]) -> None:
    """Never returns, and runs no handlers of exit: those may be the user's."""
    own = os.getpid()
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        die_with_parent(parent)
        faulthandler.register(signal.SIGXCPU, file=place, all_threads=False)
        code = work()
        with contextlib.suppress(OSError, ValueError):  # closed by the user's code
            sys.stdout.flush()
            sys.stderr.flush()
        if os.getpid() == own:
            os.write(sink, json.dumps({"code": code, "results": noted_results()}).encode() + b"\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os.kill(own, signal.SIGABRT)
    finally:
        _leave(0)


def _await(child: int, cell: Overdue) -> tuple[int, int, int | None]:
    """(status of the child, a signal that was passed on or 0, the process that did not answer in time or None)"""
    handle, forwarded, granted = os.pidfd_open(child), 0, 0.0
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    try:
        while True:
            began = time.monotonic()
            info = signal.sigtimedwait({*_TO_END, signal.SIGCHLD}, 1.0)
            if info is not None and info.si_signo in _TO_END:
                forwarded = info.si_signo
                if info.si_code != _BY_KERNEL:
                    signal.pidfd_send_signal(handle, forwarded)
            if poller.poll(0):
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                if -status in _TO_END and not forwarded:  # one for us both may come to the child first
                    late = signal.sigtimedwait(_TO_END, _LATE_S)
                    forwarded = 0 if late is None else late.si_signo
                return status, forwarded, None
            if time.monotonic() - began > _ASLEEP_S:
                granted = time.monotonic() + LIMIT_S
            deadline, pid = cell.read()
            if deadline and time.monotonic() > max(deadline, granted):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGXCPU)  # it writes down where it is
                    time.sleep(0.2)
                    os.kill(pid, signal.SIGCONT)
                os.kill(child, signal.SIGKILL)
                return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, pid
    finally:
        os.close(handle)


def _end_all(parent: int) -> None:
    """No process of the code is left. A look may miss one that was forked meanwhile by one that has ended since. Each
    such process becomes our child, since we are the subreaper, so we look until we have none."""
    while True:
        end_processes(descendants(parent))
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _too_late(code: tuple[str, ...], trace: str) -> ScenarioError:
    files = {str(Path(name.rpartition(":")[0]).resolve()): name for name in code}
    for path, line, function in _PLACE.findall(trace):
        if str(Path(path).resolve()) in files:
            return ScenarioError(
                f"the code took longer than {LIMIT_S:.0f} s and did not return, in {function}", file=path,
                line=int(line),
            )  # fmt: skip
    file, _, name = code[0].rpartition(":")
    return ScenarioError(f"the code of {name} took longer than {LIMIT_S:.0f} s and did not return", file=file)


def _require_written(results: list[tuple[str, str]], code: tuple[str, ...]) -> None:
    """Raises ScenarioError."""
    file, _, name = code[0].rpartition(":")
    if not results:
        raise ScenarioError(f"the command ended before there was a verdict, with the code of {name}", file=file)
    for path, verdict in results:
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))["verdict"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ScenarioError(f"no verdict was written: {error}", file=path) from error
        if found != verdict:
            raise ScenarioError("another verdict than the one that was printed", file=path, found=repr(found))
