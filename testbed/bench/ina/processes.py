"""Runs at the same time, each in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TypeVar

from testbed.kernel.processes import die_with_parent
from workloads.errors import InternalError, TestbedError

__all__ = ["in_processes"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def in_processes(
    measure: Callable[[_Task], _Result], tasks: Sequence[_Task], processes: int
) -> Generator[tuple[_Task, _Result], None, None]:
    """Pairs in the order in which they end. `measure` is a function of a module. Raises InternalError with the words of
    what it raised, or when a process ends without a result. A caller that stops iterating ends what is still running.
    """
    context = multiprocessing.get_context("spawn")
    todo, running = iter(tasks), dict[Connection, tuple[_Task, BaseProcess]]()
    try:
        while True:
            while len(running) < processes and (task := next(todo, None)) is not None:
                ours, theirs = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(
                    target=_run, args=(theirs, measure, task, os.getpid()), daemon=True
                )
                process.start()
                theirs.close()
                running[ours] = task, process
            if not running:
                return
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                task, process = running.pop(ready)
                try:
                    result, problem = ready.recv()
                except EOFError:
                    process.join()
                    raise InternalError(f"the process of a run ended with {process.exitcode}: {task}") from None
                process.join()
                if problem:
                    raise InternalError(problem)
                yield task, result
    finally:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.join()


def _run(answer: Connection, measure: Callable[[_Task], _Result], task: _Task, parent: int) -> None:
    """Ctrl-C is the parent's to handle; a parent that is gone needs no more results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):
        die_with_parent(parent)
    try:
        result = measure(task)
    except TestbedError as error:
        answer.send((None, str(error)))
    except Exception:
        answer.send((None, traceback.format_exc()))
    else:
        answer.send((result, ""))
