"""One node process: forked from the orchestrator, it enters its namespace and runs one Machine on its interfaces."""

from __future__ import annotations

import faulthandler
import gc
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from testbed.kernel.free_memory import spare_bytes
from testbed.kernel.ledger import Ledger
from testbed.kernel.namespaces import enter
from testbed.kernel.overdue import must_answer, unshare
from testbed.kernel.pages import does_matter, own_pages
from testbed.kernel.processes import (
    HOST_NICE,
    SWITCH_NICE,
    child_setup,
    name_process,
    take_precedence,
    take_turns_first,
)
from testbed.kernel.room import lack_of
from testbed.plan import Plan
from testbed.worlds.emulated.control import NodeChannel, connect
from testbed.worlds.emulated.dilation import clock_of, is_exact
from topologies import Node, Role
from workloads.errors import ScenarioError, TestbedError
from workloads.machine import Event

__all__ = ["CRASH_STATUS", "REFUSED_STATUS", "NodeBuilder", "NodeLoop", "NodeTask", "fork_node"]

CRASH_STATUS = 70
REFUSED_STATUS = 64
_DEFAULT_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2)
_HOST_PRIORITY, _SWITCH_PRIORITY = 1, 2
"""of real-time scheduling, the lowest"""


class NodeLoop(Protocol):
    """A Machine on its interfaces."""

    backend: str
    """native, python"""

    def run(self, origin_ns: int) -> None:
        """Until the channel's `on_control` answers False; times of the Machine are emulated and count from
        `origin_ns` (CLOCK_MONOTONIC)."""
        ...

    def finish(self) -> Iterable[tuple[int, Event]]:
        """After the run: the last facts, each with its time."""
        ...


@dataclass(frozen=True, slots=True)
class NodeTask:
    """What a node process must know."""

    plan: Plan
    node: Node
    interfaces: tuple[str, ...]
    """in port order"""
    run_dir: Path
    lives: int = 0
    """how often the node was restarted"""


_exit = os._exit
"""as it is before anybody's code can replace it"""
NodeBuilder = Callable[[NodeTask, NodeChannel], NodeLoop]
"""Runs inside the node process, in its namespace."""


def fork_node(task: NodeTask, build: NodeBuilder, ledger: Ledger, shell_pid: int, log: Path) -> int:
    """Returns the pid of the child, which never returns from here. `shell_pid`: a process in the node's namespace."""
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        role = f"node {task.node.name}"
        child_setup(parent, lambda process: ledger.note_process(process, role))
        name_process(f"tb {task.node.name}")
        _detach(log)
        take_precedence(SWITCH_NICE if task.node.role is Role.SWITCH else HOST_NICE)
        _live(task, build, ledger.folder, shell_pid)
    except BaseException:
        traceback.print_exc()
        _leave(CRASH_STATUS)
    _exit(CRASH_STATUS)


def _live(task: NodeTask, build: NodeBuilder, folder: Path, shell_pid: int) -> None:
    enter(shell_pid)
    channel = NodeChannel(connect(folder), task.node.name, clock_of(task.plan.scenario))
    channel.hello()
    try:
        unshare()  # the world limits its nodes
        with must_answer():
            loop = build(task, channel)
    except TestbedError as error:
        # Not a crash: the scenario, or this machine, does not allow this node.
        channel.refuse(error)
        _leave(REFUSED_STATUS)
        return
    except (OSError, MemoryError) as error:
        lack = lack_of(error, task.run_dir)
        if lack is None:
            raise
        channel.refuse(lack)
        _leave(REFUSED_STATUS)
        return
    # A fork shares its pages with its parent until it writes to them, if only to a reference count: not while the clock
    # runs. A collection writes to many of them.
    gc.collect()
    if does_matter(task.plan.scenario.dilation):
        own_pages(spare_bytes() // len(task.plan.scenario.topology.nodes))
    channel.ready(loop.backend)
    origin_ns = channel.await_start()
    if origin_ns is None:
        _leave(0)
        return
    if is_exact(task.plan):
        # Its frames are few by then, so that it leaves the processors to others.
        take_turns_first(_SWITCH_PRIORITY if task.node.role is Role.SWITCH else _HOST_PRIORITY)
    time.sleep(max(0, origin_ns - time.monotonic_ns()) / 1e9)
    try:
        loop.run(origin_ns)
        for now, event in loop.finish():
            channel.on_event(now, event)
    except ScenarioError as error:
        # Not a crash of ours: the code of a user's own program failed.
        channel.drain()
        channel.refuse(error)
        _leave(REFUSED_STATUS)
    except (OSError, MemoryError) as error:
        channel.drain()
        lack = lack_of(error, task.run_dir)
        if lack is None:
            raise
        channel.refuse(lack)
        _leave(REFUSED_STATUS)
    except BaseException:
        channel.drain()
        raise
    channel.done()
    _leave(0)


def _leave(status: int) -> None:
    """Exit without the clean-up handlers of the orchestrator: this process is a copy of it."""
    sys.stdout.flush()
    sys.stderr.flush()
    _exit(status)


def _detach(log: Path) -> None:
    """Nothing of the orchestrator stays usable: its terminal, signals, sockets and files."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    # Ctrl-C is the orchestrator's business: it stops us in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in _DEFAULT_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # The numbers stay taken: an object that is a copy of the orchestrator's may still close its number some day, and
    # must not close a socket of ours.
    for handle in _open_handles():
        if handle not in (0, 1, 2, null):
            os.dup2(null, handle, inheritable=False)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    faulthandler.enable(2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _open_handles() -> list[int]:
    handles = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:
            # The one that listdir itself used.
            continue
        handles.append(int(name))
    return handles
