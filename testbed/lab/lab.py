"""A lab in use: connections to its hosts, and steps on many of them at once, each reported with its duration."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from testbed.history.lab_events import LabStep
from testbed.lab.client import AgentClient
from testbed.lab.model import Host, Inventory
from testbed.lab.owner import LabOwner
from testbed.lab.parallel import TaskOutcome, everywhere
from testbed.lab.ssh import Shell, open_shell

__all__ = ["Lab", "StepDone", "Tell"]

Tell = Callable[[LabStep], None]


class StepDone:
    """What a step on one host brought: a value for programs, a line for people, and whether it changed anything."""

    def __init__(self, value: Any, detail: str = "", *, changed: bool = True) -> None:
        self.value, self.detail, self.changed = value, detail, changed


class Lab:
    """Close it: that ends the connections. Thread-safe, but one host is used by one step at a time."""

    def __init__(self, inventory: Inventory, tell: Tell, *, state: Path | None = None) -> None:
        self.inventory, self._tell = inventory, tell
        self.owner = LabOwner(inventory.name, state)
        self._shells: dict[str, Shell] = {}
        self._agents: dict[str, AgentClient] = {}
        self._lock = threading.Lock()

    def shell(self, host: Host) -> Shell:
        """Connected; again after the connection broke. Raises LabError."""
        with self._lock:
            shell = self._shells.get(host.name)
        if shell is not None and shell.connection.is_connected:
            return shell
        self.forget(host)
        shell = open_shell(self.inventory, host)
        with self._lock:
            self._shells[host.name] = shell
        return shell

    def agent(self, host: Host) -> AgentClient:
        """Raises LabError, NoAgent with the first request."""
        shell = self.shell(host)
        with self._lock:
            agent = self._agents.get(host.name)
        if agent is None or agent.shell is not shell:
            agent = AgentClient(shell)
            with self._lock:
                self._agents[host.name] = agent
        return agent

    def forget_agent(self, host: Host) -> None:
        """The next request opens a new way to it."""
        with self._lock:
            agent = self._agents.pop(host.name, None)
        if agent is not None:
            agent.close()

    def forget(self, host: Host) -> None:
        self.forget_agent(host)
        with self._lock:
            shell = self._shells.pop(host.name, None)
        if shell is not None:
            shell.close()

    def attempt(
        self, step: str, act: Callable[[Host], StepDone], hosts: Iterable[Host]
    ) -> list[TaskOutcome[Host, StepDone]]:
        """On all hosts at once; results are reported as they come; no failure raises."""
        outcomes = []
        for outcome in everywhere(act, hosts, name=lambda host: host.name):
            if outcome.error is not None:
                verdict, detail = "failed", str(outcome.error)
                self.forget_agent(outcome.target)
            else:
                assert outcome.value is not None
                verdict, detail = "done" if outcome.value.changed else "unchanged", outcome.value.detail
            self._tell(LabStep(step, outcome.target.name, round(outcome.seconds, 3), verdict, detail))
            outcomes.append(outcome)
        return outcomes

    def close(self) -> None:
        for host in self.inventory.hosts.values():
            self.forget(host)

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
