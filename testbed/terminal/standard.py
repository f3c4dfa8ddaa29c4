"""Standard input and output as a command finds them: closed, full, or with an encoding that lacks characters."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from typing import TextIO

from workloads.errors import HostCapabilityError
from workloads.visible import ESCAPED, visible

__all__ = ["open_standard", "silence"]

_ERR = 2
_OURS = re.compile(r"(\r(?!\n)|\x1b\[[0-9;]{0,12}[mK])")
"""what we send to a terminal besides text"""


def open_standard() -> None:
    """At the start of a command: closed streams become /dev/null, so that no file takes their place, and the others
    escape what they cannot show."""
    for number in range(_ERR + 1):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    sys.stdout = _opened(sys.stdout, 1)
    sys.stderr = _opened(sys.stderr, _ERR)


def silence(number: int) -> None:
    """What is written to this stream from now on, at exit too, is dropped."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


def _opened(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        return _Output(open(number, "wb", closefd=False), encoding="utf-8", errors=ESCAPED)
    encoding, by_line = stream.encoding, number == _ERR or stream.isatty()
    return _Output(stream.detach(), encoding=encoding, errors=ESCAPED, line_buffering=by_line)  # type: ignore[attr-defined]


class _Output(io.TextIOWrapper):
    """A standard stream. It escapes what its encoding lacks and what would make a terminal do something."""

    def write(self, text: str) -> int:
        parts = _OURS.split(text) if self.isatty() else [text]
        shown = "".join(part if number % 2 else visible(part) for number, part in enumerate(parts))
        with _reporting(self):
            super().write(shown)
        return len(text)

    def flush(self) -> None:
        with _reporting(self):
            super().flush()


@contextlib.contextmanager
def _reporting(stream: io.TextIOWrapper) -> Iterator[None]:
    """What stdout cannot take, this machine lacks. What stderr cannot take, nothing can report."""
    try:
        yield
    except OSError as error:
        number = stream.fileno()
        silence(number)
        if number == _ERR:
            return
        if isinstance(error, BrokenPipeError):
            raise
        raise HostCapabilityError(
            f"a standard output that takes what is printed ({error.strerror})", "let it lead to where there is room"
        ) from error
