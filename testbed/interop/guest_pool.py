"""Several guests side by side, each served by a process of ours. They take their tasks from one list, so
that none waits while another has work."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, TypeAlias

from testbed.history.codec import error_fields, error_from
from testbed.interop.guest_cases import GuestBoot, Task
from testbed.interop.judging import CaseOutcome
from testbed.kernel.processes import die_with_parent
from workloads.errors import InternalError, TestbedError

__all__ = ["Serve", "guests_for", "run_guests"]

_CASES_PER_GUEST = 8
"""fewer do not pay for another boot"""
_MOST = 4
_END_S = 15.0
_ENDS = (signal.SIGINT, signal.SIGTERM)
_fork = multiprocessing.get_context("fork")

Serve: TypeAlias = Callable[
    [int, Callable[[], Task | None], Callable[[Task, CaseOutcome], None], Callable[[str], None]], GuestBoot
]
"""(guest from 1, take, tell, say), as `testbed.interop.guest_cases.serve_guest`"""


def guests_for(cases: int, processors: int | None = None) -> int:
    """How many guests share this many cases: one per processor, since a guest has one, where the cases pay for the
    boots."""
    processors = len(os.sched_getaffinity(0)) if processors is None else processors
    return max(1, min(processors, _MOST, cases // _CASES_PER_GUEST))


def run_guests(
    count: int,
    tasks: Sequence[Task],
    serve: Serve,
    *,
    tell: Callable[[Task, CaseOutcome], None],
    say: Callable[[str], None],
) -> list[GuestBoot]:
    """Facts by guest. One guest runs in this process. `tell` and `say` are called in this process, in the order in
    which things happen. Raises what a guest raised, once all have ended in order; InternalError for one that ended
    without a word."""
    if count == 1:
        waiting = iter(tasks)
        return [serve(1, lambda: next(waiting, None), tell, say)]
    taken = _fork.Value("i", 0)
    guests: dict[Connection, tuple[int, ForkProcess]] = {}
    facts: dict[int, GuestBoot] = {}
    try:
        for guest in range(1, count + 1):
            ours, theirs = _fork.Pipe()
            child = _fork.Process(target=_live, args=(os.getpid(), serve, guest, tasks, taken, theirs), daemon=False)
            with _uninterrupted():
                child.start()
            theirs.close()
            guests[ours] = guest, child
        open_ends = list(guests)
        while open_ends:
            for end in wait(open_ends):
                assert isinstance(end, Connection), "we gave it no other"
                try:
                    what, value = end.recv()
                except EOFError:
                    open_ends.remove(end)
                    guest, child = guests[end]
                    if guest not in facts:
                        child.join(_END_S)
                        raise InternalError(f"guest {guest} ended with {child.exitcode} and without a word") from None
                    continue
                if what == "error":
                    raise error_from(value)
                if what == "facts":
                    facts[guests[end][0]] = value
                elif what == "say":
                    say(value)
                else:
                    tell(*value)
    finally:
        _end_all([child for _, child in guests.values()])
    return [facts[guest] for guest in sorted(facts)]


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """A child that gets the signal to end before it has its own handler would run what its parent does then."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_all(children: Sequence[ForkProcess]) -> None:
    """Each ends its guest in order; what does not within a while dies, and its guest with it."""
    for child in children:
        if child.is_alive():
            child.terminate()
    for child in children:
        child.join(_END_S)
        if child.is_alive():
            child.kill()
            child.join()


def _live(parent: int, serve: Serve, guest: int, tasks: Sequence[Task], taken: Any, end: Connection) -> None:
    die_with_parent(parent)
    for number in _ENDS:
        signal.signal(number, _interrupt)

    def take() -> Task | None:
        with taken.get_lock():
            at, taken.value = taken.value, taken.value + 1
        return tasks[at] if at < len(tasks) else None

    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
        facts = serve(
            guest,
            take,
            lambda task, outcome: end.send(("outcome", (task, outcome))),
            lambda text: end.send(("say", text)),
        )
        end.send(("facts", facts))
    except KeyboardInterrupt:
        sys.exit(1)
    except TestbedError as error:
        _tell_error(end, error)
    except Exception:
        _tell_error(end, InternalError(f"guest {guest}\n{traceback.format_exc()}"))


def _tell_error(end: Connection, error: TestbedError) -> None:
    with contextlib.suppress(OSError):
        end.send(("error", error_fields(error)))
    sys.exit(1)


def _interrupt(number: int, frame: object) -> None:
    """Once: the end in order must not be interrupted again."""
    for again in _ENDS:
        signal.signal(again, signal.SIG_IGN)
    raise KeyboardInterrupt
