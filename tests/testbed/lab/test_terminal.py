"""Copying between stdin and a channel, without a connection. The rest is in test_ssh.py, for real."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from testbed.lab.terminal import interact
from workloads.errors import LabError


class Dying:
    """Its connection ends in the moment in which it is told that stdin did."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self._read, self._write = os.pipe()

    def fileno(self) -> int:
        return self._read

    def exec_command(self, command: str) -> None:
        assert command == "sh"

    def set_combine_stderr(self, combine: bool) -> None:
        assert combine

    def shutdown_write(self) -> None:
        os.write(self._write, b"!")
        raise self._error

    def recv(self, size: int) -> bytes:
        return b""

    def recv_exit_status(self) -> int:
        return -1

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


@pytest.fixture
def ended_stdin() -> Iterator[None]:
    kept, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    yield
    os.dup2(kept, 0)
    os.close(kept)
    os.close(nothing)


@pytest.mark.usefixtures("ended_stdin")
@pytest.mark.parametrize("error", [EOFError(), OSError("Socket is closed")])
def test_a_connection_that_ends_while_it_is_written_to_is_the_labs(error: Exception) -> None:
    channel = Dying(error)
    transport = SimpleNamespace(open_session=lambda timeout: channel)
    host = SimpleNamespace(name="h1", connect_timeout_s=1)
    with pytest.raises(LabError, match="h1: the connection ended"):
        interact(SimpleNamespace(connection=SimpleNamespace(transport=transport), host=host))  # type: ignore[arg-type]
    channel.close()
