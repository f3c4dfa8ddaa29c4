"""All node processes of a run, seen from the orchestrator: start, barrier, records, signals, ends."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import Protocol

from switch_nodes.own_program import ended_process, slow_process
from switch_nodes.program_files import PROGRAM_KEY
from testbed.history import Record
from testbed.history.codec import NoRecord, encode, error_from, read_record
from testbed.history.events import NodeExited, NodeStarted
from testbed.kernel.interruption import Interruption
from testbed.kernel.ledger import Ledger, PathEntry
from testbed.scenario.model import CONTROLLER
from testbed.scenario.own_program import is_own_program
from testbed.scenario.protocols.own_code import is_own_code
from testbed.worlds.emulated.control import SOCKET_NAME, LineBuffer, Message, listen, peer_pid
from testbed.worlds.emulated.node import CRASH_STATUS, NodeBuilder, NodeTask, fork_node
from testbed.worlds.event_sources import misplaced
from topologies import Role
from workloads.blame import how_ended
from workloads.errors import InternalError, ScenarioError
from workloads.machine import Event

__all__ = ["Companion", "Fleet", "FleetPhase", "NodeProcess"]

_TICK_S = 0.1
_READ = 262_144
_OUTPUT_PART = 1_500
_STOP_TIMEOUT_S = 10.0
_DIE_TIMEOUT_S = 1.0


class Companion(Protocol):
    """A component that runs in the orchestrator's loop together with the nodes."""

    def fileno(self) -> int:
        """Readable when it has something to do."""
        ...

    def turn(self) -> float:
        """Do it, without waiting; in how many seconds it wants the next turn at the latest."""
        ...

    @property
    def has_given_up(self) -> bool:
        """Workers that have not finished need not be waited for: they cannot."""
        ...


class FleetPhase(Enum):
    STARTING = auto()
    READY = auto()
    RUNNING = auto()
    STOPPING = auto()
    GONE = auto()


@dataclass(slots=True)
class NodeProcess:
    task: NodeTask
    pid: int
    handle: int
    """pidfd"""
    log: Path
    phase: FleetPhase = FleetPhase.STARTING
    connection: socket.socket | None = None
    lines: LineBuffer = field(default_factory=LineBuffer)
    paused: bool = False
    """SIGSTOP was the last signal"""
    names: Message | None = None
    """what a device chose for it"""
    doomed: bool = False
    """we end it: by a fault of the scenario, or after it said done"""

    @property
    def name(self) -> str:
        return self.task.node.name


class Fleet:
    """`tell(node, event)` hears what the fleet knows, `on_record` what the nodes say. Single-threaded."""

    def __init__(
        self,
        ledger: Ledger,
        build: NodeBuilder,
        interruption: Interruption,
        *,
        tell: Callable[[Event], None],
        on_record: Callable[[Record], None],
    ) -> None:
        self._ledger, self._build, self._interruption = ledger, build, interruption
        self._tell, self._on_record = tell, on_record
        self._nodes: dict[str, NodeProcess] = {}
        self._origin_ns: int | None = None
        self._next_tick = 0.0
        self._companion: Companion | None = None
        self._selector = selectors.DefaultSelector()
        ledger.note(PathEntry(SOCKET_NAME, "socket"))
        self._server = listen(ledger.folder)
        self._selector.register(self._server, selectors.EVENT_READ, self._accept)
        self._selector.register(interruption, selectors.EVENT_READ, lambda: None)

    def accompany(self, companion: Companion) -> None:
        """From now on each `pump` gives it a turn, and ends its sleep when it has something to do."""
        self._companion = companion
        self._selector.register(companion, selectors.EVENT_READ, lambda: None)

    def launch(self, task: NodeTask, shell_pid: int) -> None:
        """Fork one node; also again after its end (then it starts at once, with the common origin)."""
        folder = task.run_dir / "nodes"
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / f"{task.node.name}.log"
        pid = fork_node(task, self._build, self._ledger, shell_pid, log)
        node = NodeProcess(task, pid, os.pidfd_open(pid), log)
        self._nodes[node.name] = node
        self._selector.register(node.handle, selectors.EVENT_READ, partial(self._on_exit, node))

    def is_alive(self, name: str) -> bool:
        return self._nodes[name].phase is not FleetPhase.GONE

    def signal(self, name: str, number: int) -> bool:
        node = self._nodes[name]
        if node.phase is FleetPhase.GONE:
            return False
        signal.pidfd_send_signal(node.handle, number)
        node.paused = number == signal.SIGSTOP
        return True

    def pid(self, name: str) -> int:
        return self._nodes[name].pid

    def kill(self, name: str) -> None:
        """Kill a node. Afterwards it is gone, and all its reports have been read. A node that does not listen (paused)
        is killed from outside."""
        node = self._nodes[name]
        node.doomed = True
        self._send(node, {"control": "die"})
        deadline = time.monotonic() + _DIE_TIMEOUT_S
        while node.phase is FleetPhase.RUNNING and not node.paused and time.monotonic() < deadline:
            self.pump(0.01)
        if self.signal(name, signal.SIGKILL):
            self.await_all(FleetPhase.GONE, _STOP_TIMEOUT_S, lambda other: other is node)

    def await_all(
        self, phase: FleetPhase, timeout_s: float, nodes: Callable[[NodeProcess], bool] = lambda node: True
    ) -> None:
        """Until every chosen node reached the phase. Raises InternalError after `timeout_s`, KeyboardInterrupt."""
        deadline = time.monotonic() + timeout_s
        while waiting := [node for node in self._nodes.values() if nodes(node) and node.phase.value < phase.value]:
            self._interruption.check()
            if time.monotonic() > deadline:
                self._make_it_talk(waiting[0])
                names = ", ".join(node.name for node in waiting)
                _blame_own_code(waiting[0], timeout_s)
                raise InternalError(f"after {timeout_s:g} s not {phase.name.lower()}: {names}{_tail(waiting[0].log)}")
            self.pump(0.1)

    def exchange_names(self, timeout_s: float) -> dict[str, Message]:
        """Wait until every node that was launched so far has sent its names. Send all names to each node, and return
        them. Raises as `await_all` does."""
        deadline = time.monotonic() + timeout_s
        while waiting := [node for node in self._nodes.values() if node.names is None]:
            self._interruption.check()
            if time.monotonic() > deadline:
                names = ", ".join(node.name for node in waiting)
                _blame_own_code(waiting[0], timeout_s)
                raise InternalError(f"after {timeout_s:g} s no names of {names}{_tail(waiting[0].log)}")
            self.pump(0.1)
        names_by_host = {node.name: node.names for node in self._nodes.values() if node.names is not None}
        for node in self._nodes.values():
            self._send(node, {"control": "names", "names": names_by_host})
        return names_by_host

    @staticmethod
    def _make_it_talk(node: NodeProcess) -> None:
        """Make a node that hangs write down where (faulthandler) and end."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(node.handle, signal.SIGCONT)
            signal.pidfd_send_signal(node.handle, signal.SIGABRT)
            select.select([node.handle], [], [], 1.0)

    def start(self, origin_ns: int) -> None:
        """The barrier falls."""
        self._origin_ns = origin_ns
        for node in self._nodes.values():
            self._send_start(node)

    def _send_start(self, node: NodeProcess) -> None:
        node.phase = FleetPhase.RUNNING
        self._send(node, {"control": "start", "origin_ns": self._origin_ns})

    def sample(self) -> None:
        """Ask the switches what they hold; they tell it as an event."""
        for node in self._nodes.values():
            if node.phase is FleetPhase.RUNNING and node.task.node.role is Role.SWITCH:
                self._send(node, {"control": "sample"})

    def stop(self, role: Role) -> None:
        """Ask the nodes of one role to stop, and wait until they are gone. Raises InternalError when one does not."""
        # Only a node that runs reports its memory at the end: one that a fault restarted a moment ago starts first.
        if self._origin_ns is not None:
            self.await_all(FleetPhase.RUNNING, _STOP_TIMEOUT_S, lambda node: node.task.node.role is role)
        for node in self._nodes.values():
            if node.task.node.role is role and node.phase is not FleetPhase.GONE:
                node.doomed = node.doomed or node.phase is not FleetPhase.RUNNING
                node.phase = FleetPhase.STOPPING
                # A node that a fault paused cannot hear.
                signal.pidfd_send_signal(node.handle, signal.SIGCONT)
                self._send(node, {"control": "stop"})
        self.await_all(FleetPhase.GONE, _STOP_TIMEOUT_S, lambda node: node.task.node.role is role)

    def pump(self, timeout_s: float) -> None:
        """Read what the nodes report, for at most so long. Raises InternalError when a node ended unexpectedly."""
        now = time.monotonic()
        if now >= self._next_tick:
            self._next_tick = now + _TICK_S
            for node in self._nodes.values():
                if node.phase is FleetPhase.RUNNING:
                    self._send(node, {"control": "tick"})
                elif node.phase is FleetPhase.STOPPING:
                    # The first one is lost when ticks filled the buffer of a node that stood still.
                    self._send(node, {"control": "stop"})
        timeout_s = max(0.0, min(timeout_s, self._next_tick - now))
        if self._companion is not None:
            timeout_s = min(timeout_s, self._companion.turn())
        for key, _ in self._selector.select(timeout_s):
            key.data()

    def close(self) -> None:
        """Send SIGKILL to all nodes that are left. Afterwards no child of ours lives. Never raises for a node."""
        for node in self._nodes.values():
            if node.phase is not FleetPhase.GONE:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(node.handle, signal.SIGKILL)
        for node in self._nodes.values():
            if node.phase is not FleetPhase.GONE:
                os.waitpid(node.pid, 0)
                self._forget(node)
            with contextlib.suppress(OSError):
                if node.log.stat().st_size == 0:
                    node.log.unlink()
                    node.log.parent.rmdir()
        self._selector.close()
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                self._admit(self._server.accept()[0])

    def _admit(self, connection: socket.socket) -> None:
        pid = peer_pid(connection)
        node = next((node for node in self._nodes.values() if node.pid == pid), None)
        if node is None:
            connection.close()
            return
        connection.setblocking(False)
        node.connection = connection
        self._selector.register(connection, selectors.EVENT_READ, partial(self._on_readable, node, connection))

    def _send(self, node: NodeProcess, message: Message) -> None:
        """A node that does not read (paused) has at most a buffer full of ticks waiting; more is not needed."""
        if node.connection is not None:
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                node.connection.send(encode(message))

    def _on_readable(self, node: NodeProcess, connection: socket.socket) -> bool:
        """Whether there was something to read."""
        if node.connection is not connection:  # its node's end came in the same turn, and was handled first
            return False
        try:
            data = connection.recv(_READ)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self._selector.unregister(connection)
            connection.close()
            node.connection = None
            return False
        for message in node.lines.feed(data):
            if "event" in message:
                self._on_record(self._record(node, message))
            else:
                self._on_message(node, message)
        return True

    def _record(self, node: NodeProcess, message: Message) -> Record:
        """The record in a message of a node.

        Raises ScenarioError where a user's own program may have sent something that is no record, or that this node may
        not report. Raises InternalError otherwise.
        """
        place = node.task.node
        role = "controller" if place.name == CONTROLLER else str(place.role)
        try:
            record = read_record(message)
            problem = misplaced(role, place.name, record)
            if problem is None:
                return record
        except NoRecord as error:
            problem = f"the {role} {place.name} reported what is no record: {error}"
        program = node.task.plan.scenario.switch.program
        if role == "switch" and ":" in program:
            raise ScenarioError(problem, key=PROGRAM_KEY, found=program)
        raise InternalError(problem)

    def _on_message(self, node: NodeProcess, message: Message) -> None:
        match message.get("control"):
            case "ready":
                self._tell(NodeStarted(node.name, str(node.task.node.role), message["backend"]))
                if node.phase is FleetPhase.STOPPING:
                    return
                node.phase = FleetPhase.READY
                if self._origin_ns is not None:
                    self._send_start(node)
            case "names":
                node.names = message["names"]
            case "done":
                node.doomed = True
            case "refused":
                raise error_from(message["error"])

    def _on_exit(self, node: NodeProcess) -> None:
        # What it said before it ended waits in its socket, and that perhaps still in the queue of the listening one.
        self._accept()
        while node.connection is not None and self._on_readable(node, node.connection):
            pass
        _, wait_status = os.waitpid(node.pid, 0)
        status = os.waitstatus_to_exitcode(wait_status)
        self._forget(node)
        expected = node.doomed and status in (0, -signal.SIGKILL)
        output = "" if expected else _tail(node.log)
        self._tell(NodeExited(node.name, status, expected, output))
        if not expected:
            code, what = _own_code(node.task)
            if code and (status != CRASH_STATUS or not output):  # a crash has left a traceback
                raise ended_process(code, status, node.name, what)
            raise InternalError(f"node {node.name} ended unexpectedly ({how_ended(status)}){output}")

    def _forget(self, node: NodeProcess) -> None:
        node.phase = FleetPhase.GONE
        self._selector.unregister(node.handle)
        os.close(node.handle)
        if node.connection is not None:
            self._selector.unregister(node.connection)
            node.connection.close()
            node.connection = None


def _own_code(task: NodeTask) -> tuple[str, str]:
    """(code of the user's that this node runs, what it is); empty: it runs none."""
    program, protocol = task.plan.scenario.switch.program, task.plan.scenario.job.protocol
    runs = any(config.name == task.node.name and config.program == program for config in task.plan.switches)
    if runs and is_own_program(program):
        return program, "program"
    is_worker = any(host.name == task.node.name for host in task.plan.hosts)
    return (protocol, "protocol") if is_worker and is_own_code(protocol) else ("", "")


def _blame_own_code(node: NodeProcess, timeout_s: float) -> None:
    """Raises ScenarioError where a node that does not answer runs code of the user's."""
    code, what = _own_code(node.task)
    if code:
        raise slow_process(code, timeout_s, node.name, what)


def _tail(log: Path) -> str:
    """What a node wrote to stderr, on lines of its own; of much, the begin (where a node hung) and the end (why it
    crashed)."""
    try:
        text = log.read_bytes().decode(errors="replace").strip()
    except OSError:
        return ""
    if len(text) > 2 * _OUTPUT_PART:
        text = f"{text[:_OUTPUT_PART]}\n[...]\n{text[-_OUTPUT_PART:]}"
    return f"\n{text}" if text else ""
