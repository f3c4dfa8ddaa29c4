"""Standard input and output as a command finds them: closed, full, or with an encoding that lacks characters; and
stdout for a document alone."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import sys
from collections.abc import Iterator
from typing import TextIO

from workloads.errors import HostCapabilityError
from workloads.visible import ESCAPED, visible

__all__ = ["document_alone", "open_standard", "print_document", "silence"]

_OUT, _ERR = 1, 2
_OURS = re.compile(r"(\r(?!\n)|\x1b\[[0-9;]{0,12}[mK])")
"""what we send to a terminal besides text"""


_reserved: TextIO | None = None
"""stdout, where it is for a document alone"""


def open_standard() -> None:
    """At the start of a command: closed streams become /dev/null, so that no file takes their place, and the others
    escape what they cannot show. A closed stdout refuses what is printed, as a full one does."""
    for number in range(_ERR + 1):
        try:
            os.fstat(number)
        except OSError:
            # It gets the lowest free number, which is this one.
            os.open(os.devnull, os.O_RDONLY if number == _OUT else os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    sys.stdout = _opened(sys.stdout, _OUT)
    sys.stderr = _opened(sys.stderr, _ERR)


def print_document(text: str) -> None:
    """On stdout, also inside `document_alone`; the last line ends."""
    stream = sys.stdout if _reserved is None else _reserved
    stream.write(text if text.endswith("\n") else f"{text}\n")
    stream.flush()


@contextlib.contextmanager
def document_alone() -> Iterator[None]:
    """Only `print_document` writes to stdout. What else is printed goes to stderr: that of the user's own code and of
    processes that it starts, too."""
    global _reserved
    if _reserved is not None:
        yield
        return
    before, kept = sys.stdout, None
    before.flush()
    with contextlib.suppress(OSError):  # a stream of a test has no number
        if before.fileno() == _OUT:
            kept = os.dup(_OUT)
            os.dup2(_ERR, _OUT)
    _reserved = before
    if kept is not None:
        _reserved = _Output(open(kept, "wb"), encoding=before.encoding, errors=ESCAPED)  # noqa: SIM115
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        own, _reserved, sys.stdout = _reserved, None, before
        if kept is not None:
            os.dup2(kept, _OUT)
            own.close()


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
        closed = error.errno == errno.EBADF
        raise HostCapabilityError(
            f"a standard output that takes what is printed ({'it is closed' if closed else error.strerror})",
            "> /dev/null discards it" if closed else "let it lead to where there is room",
        ) from error
