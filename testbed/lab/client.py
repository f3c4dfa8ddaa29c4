"""The agent of one host, asked through SSH: one channel for many requests."""

from __future__ import annotations

import time
from typing import Any, TypeVar

from testbed.lab.agent.answers import AgentIdentity, AgentState
from testbed.lab.agent.protocol import MAX_LINE, PROTOCOL, decode, encode
from testbed.lab.agent.requests import Hello, Request, describe_misfit, read_answer, write_request
from testbed.lab.ssh import Shell, tail
from workloads.codec import PLAIN, Misfit
from workloads.errors import LabError

__all__ = ["AgentClient", "ConnectionEnded", "NoAgent", "WrongAnswer"]

_TIMEOUT_S = 15.0
_Answer = TypeVar("_Answer")


class NoAgent(LabError):
    """None runs there, or it is not installed."""


class ConnectionEnded(LabError):
    """The way to it broke; it may go on, and may have done what was asked."""


class WrongAnswer(LabError):
    """What an agent answers is no answer to what it was asked: `why`."""

    def __init__(self, host: str, why: str) -> None:
        self.why = why
        super().__init__(host, f"its agent answers what is none: {why}")


class AgentClient:
    """Not for several threads at once."""

    def __init__(self, shell: Shell) -> None:
        self.shell, self.host = shell, shell.host
        base = self.host.base
        self._channel = shell.channel([f"{base}/current/bin/python", "-P", "-m", "testbed.lab.agent", "call", base])
        self._rest = b""

    def ask(self, request: Request[_Answer], *, timeout_s: float = _TIMEOUT_S) -> _Answer:
        """What the agent answers. Raises LabError, NoAgent, WrongAnswer."""
        return self._read(request, self._value(request, timeout_s))

    def _read(self, request: Request[_Answer], value: Any) -> _Answer:
        try:
            return read_answer(request, value)
        except Misfit as misfit:
            raise WrongAnswer(self.host.name, f"{request.op}: {describe_misfit(misfit)}") from None

    def _value(self, request: Request[Any], timeout_s: float = _TIMEOUT_S) -> Any:
        """As JSON values."""
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
            raise WrongAnswer(self.host.name, str(error)) from None
        if not answer.get("ok"):
            raise LabError(self.host.name, str(answer.get("problem")), str(answer.get("output", "")))
        return answer.get("value")

    def _send(self, line: bytes) -> None:
        try:
            self._channel.sendall(line)
        except TimeoutError:
            raise
        except (OSError, EOFError):  # EOFError: paramiko's, where the connection itself broke
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

    def identity(self) -> AgentIdentity:
        """Whatever else an agent of another version says. Raises LabError when it speaks another protocol."""
        return self._identity(self._value(Hello()))

    def _identity(self, value: Any) -> AgentIdentity:
        try:
            found = PLAIN.decode(AgentIdentity, value)
        except Misfit:
            found = None
        if found is None or found.protocol != PROTOCOL:
            raise LabError(self.host.name, "its agent speaks another protocol; first: tb lab deploy")
        return found

    def hello(self, version: str | None = None) -> AgentState:
        """Raises LabError when it speaks another protocol, or is not of this version."""
        value = self._value(Hello())
        found = self._identity(value).version
        if version is not None and found != version:
            raise LabError(self.host.name, f"its agent is of version {found}, here is {version}; first: tb lab deploy")
        return self._read(Hello(), value)

    def close(self) -> None:
        self._channel.close()
