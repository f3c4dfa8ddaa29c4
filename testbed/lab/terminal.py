"""A shell on a host, at this terminal, or fed from stdin."""

from __future__ import annotations

import os
import select
import shutil
import sys
from typing import Any

from testbed.lab.ssh import Shell
from workloads.errors import LabError

__all__ = ["interact"]


def interact(shell: Shell) -> int:
    """Until the shell there ends, or stdin does; its exit status. Raises LabError when the connection ends before."""
    channel = shell.connection.transport.open_session(timeout=shell.host.connect_timeout_s)
    tty = os.isatty(0)
    if tty:
        columns, rows = shutil.get_terminal_size()
        channel.get_pty(os.environ.get("TERM", "dumb"), columns, rows)
    channel.invoke_shell() if tty else channel.exec_command("sh")
    if not tty:
        channel.set_combine_stderr(True)
        return _ended(shell, _copy(channel))
    import termios
    import tty as terminal

    before = termios.tcgetattr(0)
    try:
        terminal.setraw(0)
        return _ended(shell, _copy(channel))
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def _ended(shell: Shell, status: int) -> int:
    if status < 0:
        raise LabError(shell.host.name, "the connection ended")
    return status


def _copy(channel: Any) -> int:
    reading = [0, channel]
    while True:
        ready, _, _ = select.select(reading, [], [])
        if channel in ready:
            data = channel.recv(65_536)
            if not data:
                return int(channel.recv_exit_status())
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        if 0 in ready:
            data = os.read(0, 4096)
            try:
                channel.sendall(data) if data else channel.shutdown_write()
            except (EOFError, OSError):
                data = b""  # the connection ended: what it brought before is still to be read, and then its end
            if not data:
                reading.remove(0)
