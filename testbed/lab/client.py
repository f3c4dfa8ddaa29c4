"""The agent of one host, asked through SSH: one channel for many requests."""

from __future__ import annotations

import time
from typing import Any

from testbed.lab.agent.protocol import MAX_LINE, PROTOCOL, decode, encode
from testbed.lab.agent.requests import Hello, Request, write_request
from testbed.lab.ssh import Shell, tail
from workloads.errors import LabError

__all__ = ["AgentClient", "ConnectionEnded", "NoAgent"]

_TIMEOUT_S = 15.0


class NoAgent(LabError):
    """None runs there, or it is not installed."""


class ConnectionEnded(LabError):
    """The way to it broke; it may go on, and may have done what was asked."""


class AgentClient:
    """Not for several threads at once."""

    def __init__(self, shell: Shell) -> None:
        self.shell, self.host = shell, shell.host
        base = self.host.base
        self._channel = shell.channel([f"{base}/current/bin/python", "-P", "-m", "testbed.lab.agent", "call", base])
        self._rest = b""

    def ask(self, request: Request, *, timeout_s: float = _TIMEOUT_S) -> Any:
        """What the agent answers, as JSON values. Raises LabError, NoAgent."""
        op, line = request.op, encode(write_request(request))
        self._channel.settimeout(timeout_s)
        deadline = time.monotonic() + timeout_s
        try:
            self._send(line)
            answer = decode(self._line(op, deadline, timeout_s))
        except TimeoutError:
            raise LabError(self.host.name, f"its agent did not answer `{op}` within {timeout_s:g} s") from None
        except OSError as error:
            raise self._ended(op) from error
        except ValueError as error:
            raise LabError(self.host.name, f"its agent answers what is none: {error}") from None
        if not answer.get("ok"):
            raise LabError(self.host.name, str(answer.get("problem")), str(answer.get("output", "")))
        return answer.get("value")

    def _send(self, line: bytes) -> None:
        try:
            self._channel.sendall(line)
        except TimeoutError:
            raise
        except OSError:
            pass  # It has ended: what it said before that is read all the same.

    def _line(self, op: str, deadline: float, timeout_s: float) -> bytes:
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._channel.settimeout(left)
            data = self._channel.recv(65_536)
            if not data:
                raise self._ended(op)
            self._rest += data
            if len(self._rest) > MAX_LINE:
                raise LabError(self.host.name, f"its agent says more than {MAX_LINE} bytes")
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _ended(self, op: str) -> LabError:
        self._channel.settimeout(2.0)
        said = b""
        try:
            while data := self._channel.recv_stderr(4096):
                said += data
        except OSError:
            pass
        # It comes behind the end of the streams.
        known = self._channel.status_event.wait(2.0)
        status = self._channel.recv_exit_status() if known else None
        if status in (126, 127):
            return NoAgent(self.host.name, "our package is not installed there; first: tb lab deploy")
        if status == 75:
            return NoAgent(self.host.name, f"{tail(said) or 'no agent runs'}; first: tb lab deploy")
        if status is None or status < 0:
            return ConnectionEnded(self.host.name, f"the connection ended during `{op}`", tail(said))
        return LabError(self.host.name, f"its agent ended during `{op}`", tail(said))

    def hello(self, version: str | None = None) -> dict[str, Any]:
        """Raises LabError when it speaks another protocol, or is not of this version."""
        found = self.ask(Hello())
        if not isinstance(found, dict) or found.get("protocol") != PROTOCOL:
            raise LabError(self.host.name, "its agent speaks another protocol; first: tb lab deploy")
        if version is not None and found.get("version") != version:
            raise LabError(
                self.host.name,
                f"its agent is of version {found.get('version')}, here is {version}; first: tb lab deploy",
            )
        return found

    def close(self) -> None:
        self._channel.close()
