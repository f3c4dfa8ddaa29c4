"""The node process of the OpenFlow controller.

The library runs on threads of its own, in a network namespace of its own. It listens inside the namespaces of its
switches, so that no other process can reach it.
"""

from __future__ import annotations

import json
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from switch_nodes.dataplane.clock import EmulatedClock
from testbed.kernel.namespaces import inside, unshare_network
from testbed.steering.events import ControllerReady, RulesRefused
from testbed.steering.fabric import Fabric
from testbed.steering.readings import READINGS_NAME, TableReading
from testbed.worlds.emulated.control import NodeChannel
from workloads.errors import InternalError
from workloads.machine import Event

if TYPE_CHECKING:
    from testbed.steering.session import OpenFlowSession

__all__ = ["CONTROLLER_PORT", "ControllerLoop"]

CONTROLLER_PORT = 6653
"""of 127.0.0.1 in the namespace of each switch; IANA's number for OpenFlow"""
_READY_TIMEOUT_S = 30.0
_ASK_EVERY_S = 1.0
_SETTLE_S = 0.7
"""Open vSwitch counts in its datapath and hands the counts to its tables twice a second"""
_LAST_ANSWER_S = 1.0


class ControllerLoop:
    """A NodeLoop. Raises InternalError when its switches do not confirm their rules in time."""

    def __init__(
        self, fabric: Fabric, pids: Sequence[int], channel: NodeChannel, run_dir: Path, clock: EmulatedClock
    ) -> None:
        """`pids`: a process in the namespace of each switch."""
        self._clock = clock
        self._fabric, self._channel, self._file = fabric, channel, run_dir / READINGS_NAME
        self._facts: queue.SimpleQueue[tuple[int, Event]] = queue.SimpleQueue()
        self._readings: dict[str, TableReading] = {}
        self._unread: set[str] = set()
        self._changed = False
        listeners = [_listen_inside(pid) for pid in pids]
        # The library insists on listening somewhere, too: where nothing is.
        unshare_network()
        self._session = self._start(listeners)
        self._await_switches()
        self.backend = _library()
        self._tell(ControllerReady(self.backend, tuple(switch.name for switch in fabric.switches)))

    def _start(self, listeners: Sequence[socket.socket]) -> OpenFlowSession:
        from testbed.steering.controller import Controller
        from testbed.steering.launch import run_controller
        from testbed.steering.session import OpenFlowSession

        session = OpenFlowSession(Controller(self._fabric), self._tell, self._on_reading, listeners)
        threading.Thread(target=run_controller, args=(session,), name="controller", daemon=True).start()
        return session

    def _await_switches(self) -> None:
        deadline = time.monotonic() + _READY_TIMEOUT_S
        early: list[tuple[int, Event]] = []
        while not self._session.controller.is_ready:
            early += self._take(0)
            if time.monotonic() > deadline:
                names = ", ".join(switch.name for switch in self._fabric.switches)
                raise InternalError(
                    f"the controller: not all of {names} confirmed their rules in {_READY_TIMEOUT_S:g} s"
                )
            time.sleep(0.01)
        for fact in early:
            self._facts.put(fact)

    def _tell(self, event: Event) -> None:
        """From any thread."""
        self._facts.put((time.monotonic_ns(), event))

    def _on_reading(self, reading: TableReading) -> None:
        """From the library's thread."""
        self._readings[reading.switch] = reading
        self._unread.discard(reading.switch)
        self._changed = True

    def run(self, origin_ns: int) -> None:
        poller = select.poll()
        poller.register(self._channel.socket, select.POLLIN)
        next_ask = 0.0
        going = True
        while going:
            if time.monotonic() >= next_ask:
                next_ask = time.monotonic() + _ASK_EVERY_S
                self._session.ask_counters()
            if poller.poll(20):
                going = self._channel.on_control()
            for now, event in self._take(origin_ns):
                self._channel.on_event(now, event)
                self._channel.flush()
            self._write()

    def finish(self) -> Iterator[tuple[int, Event]]:
        time.sleep(_SETTLE_S)
        self._unread = {switch.name for switch in self._fabric.switches}
        self._session.ask_counters()
        deadline = time.monotonic() + _LAST_ANSWER_S
        while self._unread and time.monotonic() < deadline:
            time.sleep(0.01)
        self._write()
        yield from self._take(self._channel.origin_ns)

    def _take(self, origin_ns: int) -> Iterator[tuple[int, Event]]:
        if self._session.failure is not None:
            raise InternalError(f"the controller: {self._session.failure!r}") from self._session.failure
        while not self._facts.empty():
            stamp, event = self._facts.get()
            if isinstance(event, RulesRefused):
                raise InternalError(f"switch {event.node} refuses a rule: OpenFlow error {event.type}/{event.code}")
            yield max(0, self._clock.emulated(stamp - origin_ns)), event

    def _write(self) -> None:
        """A reader never finds half a file."""
        if not self._changed:
            return
        self._changed = False
        document = {"schema": 1, "switches": [asdict(self._readings[name]) for name in sorted(self._readings)]}
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(document, indent=1), encoding="utf-8")
        os.replace(fresh, self._file)


def _listen_inside(pid: int) -> socket.socket:
    with inside(pid):
        listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", CONTROLLER_PORT))
    listener.listen(16)
    return listener


def _library() -> str:
    from testbed.steering.compat import library_name

    return library_name() or "unknown"
