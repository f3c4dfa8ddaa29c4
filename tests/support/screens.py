"""What a command leaves on a terminal: run under a pseudo-terminal of a given width, its bytes read by a terminal
emulator."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyte

__all__ = ["Screen", "on_terminal"]

_WIDE = 1000
"""columns of the emulator: it never wraps, so that a line that is longer than the terminal shows as one"""
_ROOT = Path(__file__).resolve().parent.parent.parent
_KEPT = ("PATH", "HOME", "LANG", "USER", "VIRTUAL_ENV")
_PROMPT = "prompt> "


@dataclass(frozen=True)
class Screen:
    columns: int
    lines: tuple[str, ...]
    """what can be read when the command has ended and the shell has printed its prompt: without the prompt, nor empty
    lines at the end"""
    last: str
    """the line that the prompt stands on"""
    cursor_hidden: bool
    status: int
    """exit code; minus the signal that ended it"""
    raw: bytes

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def words(self) -> set[str]:
        return set(self.text.split())

    @property
    def too_long(self) -> list[str]:
        return [line for line in self.lines if len(line) > self.columns]


def on_terminal(
    words: Sequence[str],
    columns: int,
    *,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 120.0,
    press_after: Callable[[str], bool] | None = None,
    keys: bytes = b"\x03",
) -> Screen:
    """`python -m testbed WORDS` in a session of its own on a terminal of `columns`, in the folder `cwd`. `press_after`:
    given what was printed so far; when it says yes, `keys` are typed, once. Raises TimeoutError when the command does
    not end."""
    known = {name: os.environ[name] for name in _KEPT if name in os.environ}
    known |= {"TERM": "xterm-256color", "PYTHONPATH": str(_ROOT), **(environment or {})}
    pid, master = pty.fork()
    if pid == 0:
        try:
            os.chdir(cwd)
            os.execve(sys.executable, [sys.executable, "-P", "-m", "testbed", *words], known)
        finally:
            os._exit(127)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    try:
        raw = _read(master, time.monotonic() + timeout_s, press_after, keys)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(master)
        _, waited = os.waitpid(pid, 0)
    return _screen(columns, raw, os.waitstatus_to_exitcode(waited))


def _read(master: int, deadline: float, press_after: Callable[[str], bool] | None, keys: bytes) -> bytes:
    raw = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"the command did not end; so far: {bytes(raw[-2000:])!r}")
        if not select.select([master], [], [], min(left, 0.2))[0]:
            continue
        try:
            read = os.read(master, 65536)
        except OSError:  # the last process that had the terminal open is gone
            read = b""
        if not read:
            return bytes(raw)
        raw += read
        if press_after is not None and press_after(raw.decode("utf-8", "replace")):
            press_after = None
            os.write(master, keys)


def _screen(columns: int, raw: bytes, status: int) -> Screen:
    # As many rows as can be needed: nothing scrolls away, and reading a row takes half a millisecond.
    emulator = pyte.Screen(_WIDE, raw.count(b"\n") + 2)
    stream = pyte.ByteStream(emulator)
    stream.feed(raw)
    row = emulator.cursor.y
    hidden = bool(emulator.cursor.hidden)
    stream.feed(_PROMPT.encode())
    shown = [line.rstrip() for line in emulator.display]
    last = shown[row]
    shown[row] = shown[row].removesuffix(_PROMPT.rstrip())
    lines = shown[: max((number for number, line in enumerate(shown) if line.strip()), default=-1) + 1]
    return Screen(columns, tuple(lines), last, hidden, status, raw)
