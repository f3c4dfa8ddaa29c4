"""What code of the user's own did wrong, in words: which exception, at which of its lines, or how its process ended."""

from __future__ import annotations

import signal
from collections.abc import Callable

from workloads.errors import InternalError, TestbedError

__all__ = ["deepest_place", "how_ended", "in_one_line", "is_interrupt", "is_on_purpose", "place_in"]


def how_ended(status: int) -> str:
    """Exit code, or minus the number of a signal, in words."""
    return f"exit code {status}" if status >= 0 else f"signal {_signal_name(-status)}"


def _signal_name(number: int) -> str:
    """Python has no names for real-time signals (signal(7)) but the first and the last one."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def in_one_line(error: BaseException) -> str:
    """An exception in one line."""
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be had"
    return ": ".join(filter(None, (type(error).__name__, " ".join(text.split()))))


def is_interrupt(error: BaseException) -> bool:
    """Ctrl-C comes to whatever code runs; where it cannot come, the user's code itself has raised it."""
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def is_on_purpose(error: BaseException, owns: str | Callable[[str], bool]) -> bool:
    """Whether the called code of this file, or of the files that `owns` takes, did nothing wrong. This is so when a
    testbed error that says who is to blame passed through it. An InternalError counts only if that code itself did not
    raise it."""
    if not isinstance(error, InternalError):
        return isinstance(error, TestbedError)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return True
    raised = trace.tb_frame.f_code.co_filename
    return raised != owns if isinstance(owns, str) else not owns(raised)


def deepest_place(error: BaseException, filename: str) -> tuple[int, str] | None:
    """(line, function) of the innermost call of a traceback that is code of this file; None: there is none."""
    found = place_in(error, filename.__eq__)
    return found and found[1:]


def place_in(error: BaseException, owns: Callable[[str], bool]) -> tuple[str, int, str] | None:
    """(file, line, function) of the innermost call of a traceback that is code of a file that `owns` takes."""
    place, trace = None, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if owns(code.co_filename):
            place = code.co_filename, trace.tb_lineno, code.co_name
        trace = trace.tb_next
    return place
