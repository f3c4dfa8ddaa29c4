"""A connection that breaks while something is asked."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from testbed.lab.agent.requests import Hello
from testbed.lab.client import AgentClient, ConnectionEnded
from testbed.lab.inventory import Host


class _Broken:
    """A shell and its channel, whose connection is gone when something is written."""

    def __init__(self, error: Exception) -> None:
        self.host, self.status_event, self._error = Host("h1", "10.0.0.1"), threading.Event(), error
        self.status_event.set()

    def channel(self, argv: list[str]) -> _Broken:
        return self

    def settimeout(self, seconds: float) -> None:
        pass

    def sendall(self, line: bytes) -> None:
        raise self._error

    def recv(self, size: int) -> bytes:
        return b""

    def recv_stderr(self, size: int) -> bytes:
        return b""

    def recv_exit_status(self) -> int:
        return -1


@pytest.mark.parametrize("error", [OSError("Socket is closed"), BrokenPipeError(), EOFError()], ids=repr)
def test_a_connection_that_is_gone_when_we_write(error: Exception) -> None:
    """Paramiko raises `EOFError`, no `OSError`, where the socket below it broke."""
    shell: Any = _Broken(error)
    with pytest.raises(ConnectionEnded) as told:
        AgentClient(shell).ask(Hello())
    assert str(told.value) == "h1: the connection ended during `hello`"
