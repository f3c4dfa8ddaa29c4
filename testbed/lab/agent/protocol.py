"""What agent and client say: JSON objects, one per line.

A request: `{"op": ..., more}`. An answer: `{"ok": true, "value": ...}` or `{"ok": false, "problem": ..., "output":
...}`.
"""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Iterator
from typing import Any, TypeAlias

__all__ = ["MAX_LINE", "PROTOCOL", "AgentRefused", "Message", "decode", "encode", "failure", "lines", "success"]

PROTOCOL = 1
"""agent and client of different numbers do not talk"""
MAX_LINE = 4 << 20
_MOST_DIGITS = 20
"""most digits of a number of 64 bits"""
Message: TypeAlias = dict[str, Any]


class AgentRefused(Exception):
    """The agent does not do it: why, for people, and what a program said about it."""

    def __init__(self, problem: str, output: str = "") -> None:
        self.problem, self.output = problem, output
        super().__init__(problem)


def encode(message: Message) -> bytes:
    """Raises ValueError when it is too long."""
    line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_LINE:
        raise ValueError(f"a message of {len(line)} bytes; allowed: {MAX_LINE}")
    return line


def decode(line: bytes) -> Message:
    """Raises ValueError, also for what no message of ours is: nested deeply, or with numbers beyond 64 bits."""
    try:
        message = json.loads(line, parse_int=_whole, parse_float=_broken, parse_constant=_broken)
    except RecursionError:
        raise ValueError("a message that is nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError("a message is a JSON object")
    return message


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits; allowed: {_MOST_DIGITS}")
    return int(text)


def _broken(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:_MOST_DIGITS]}; allowed: finite ones")
    return number


def success(value: Any) -> Message:
    return {"ok": True, "value": value}


def failure(problem: str, output: str = "") -> Message:
    return {"ok": False, "problem": problem, "output": output}


def lines(connection: socket.socket) -> Iterator[bytes]:
    """Until the other side ends. Raises ValueError when a line is too long, OSError."""
    held = b""
    while True:
        while (end := held.find(b"\n")) >= 0:
            yield held[:end]
            held = held[end + 1 :]
        if len(held) > MAX_LINE:
            raise ValueError(f"a line of more than {MAX_LINE} bytes")
        data = connection.recv(65_536)
        if not data:
            return
        held += data
