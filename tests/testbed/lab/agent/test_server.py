"""The agent's door: a unix socket of its user, and no other; never as root."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.lab.agent.operations import Operations
from testbed.lab.agent.protocol import MAX_LINE
from testbed.lab.agent.server import AgentServer, AlreadyRunning, socket_path
from tests.support.labs import environment


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    """Short enough for a socket."""
    folder = Path("/tmp") / f"ina-agent-{os.getpid()}-{tmp_path.name[-8:]}"
    folder.mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


def _server(base: Path) -> AgentServer:
    return AgentServer(base, Operations(base, "v1", {}, lambda message: ["true"]))


def test_only_its_user_can_open_it_whatever_the_umask_says(base: Path) -> None:
    before = os.umask(0)
    try:
        server = _server(base)
    finally:
        os.umask(before)
    try:
        mode = socket_path(base).stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
        for name in ("state", "runs", "bitstreams"):
            assert (base / name).stat().st_mode & 0o077 == 0
        assert (base / "agent.lock").stat().st_mode & 0o077 == 0
        with pytest.raises(AlreadyRunning):
            _server(base)
    finally:
        server.stop()
        server.serve()
    assert not socket_path(base).exists()


def test_nonsense_gets_an_answer_and_the_next_client_is_served(base: Path) -> None:
    server = _server(base)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        answers = []
        for text in (b"rubbish\n", b"[]\n", b'{"op": "lease"}\n', b'{"op": "go", "run": 5}\n', b'{"op": "hello"}\n'):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(30)
                connection.connect(str(socket_path(base)))
                connection.sendall(text)
                answers.append(json.loads(connection.makefile().readline()))
        assert [answer["ok"] for answer in answers] == [False, False, False, False, True]
        assert answers[0]["problem"].startswith("not understood: ")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(socket_path(base)))
            connection.sendall(b'{"op": "hello"')  # and goes away
    finally:
        server.stop()
        thread.join(30)
    assert not thread.is_alive()


def test_one_client_too_many_is_told_why(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through `call`, as a client of ours comes: whether it asks before or after it is refused."""
    monkeypatch.setattr("testbed.lab.agent.server._MAX_CLIENTS", 1)
    server = _server(base)
    thread = threading.Thread(target=server.serve)
    thread.start()
    refusals = []
    try:
        with socket.socket(socket.AF_UNIX) as first:
            first.settimeout(30)
            first.connect(str(socket_path(base)))
            first.sendall(b'{"op": "hello"}\n')
            assert json.loads(first.makefile().readline())["ok"]
            for pause_s in (0.0, 0.5):
                words = [sys.executable, "-P", "-m", "testbed.lab.agent", "call", str(base)]
                with subprocess.Popen(
                    words, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                ) as call:
                    time.sleep(pause_s)
                    assert call.stdin is not None
                    assert call.stdout is not None
                    with contextlib.suppress(BrokenPipeError):
                        call.stdin.write(b'{"op": "hello"}\n')
                        call.stdin.flush()
                    answer = json.loads(call.stdout.readline())
                    with contextlib.suppress(BrokenPipeError):
                        call.stdin.close()
                    errors = call.stderr.read() if call.stderr is not None else b""
                refusals.append((answer, errors, call.returncode))
    finally:
        server.stop()
        thread.join(30)
    told = {"ok": False, "output": "", "problem": "its agent serves 1 clients already, which is the most; end some of "
                                                  "them, or ask again later"}  # fmt: skip
    assert refusals == [(told, b"", 0)] * 2


BAD = [
    b'{"op": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"op": "lease", "resource": "host", "holder": "a", "seconds": ' + b"9" * 400 + b"}",
    b'{"op": "lease", "resource": "host", "holder": "a", "purpose": "", "seconds": 1e400}',
    b'{"op": "lease", "resource": "host", "holder": "a", "purpose": "", "seconds": NaN}',
    b'{"op": "lease", "resource": [], "holder": {}, "purpose": 3, "seconds": "x"}',
    b'{"op": {}}',
    b"\xff\xfe",
    b"",
]


def test_what_is_not_understood_is_answered_and_the_connection_goes_on(base: Path) -> None:
    server = _server(base)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(str(socket_path(base)))
            answers = connection.makefile()
            for bad in BAD:
                connection.sendall(bad + b"\n")
                answer = json.loads(answers.readline())
                assert answer["ok"] is False, bad[:80]
                connection.sendall(b'{"op": "hello"}\n')
                assert json.loads(answers.readline())["ok"] is True
            told = []
            for bad in BAD[:3]:
                connection.sendall(bad + b"\n")
                told.append(json.loads(answers.readline())["problem"])
            assert told == [
                "not understood: ValueError: a message that is nested too deeply",
                "not understood: ValueError: a number of 400 digits; allowed: 20",
                "not understood: ValueError: the number 1e400; allowed: finite ones",
            ]
            connection.sendall(b"x" * (MAX_LINE + 1))
            assert f"a line of more than {MAX_LINE} bytes" in json.loads(answers.readline())["problem"]
    finally:
        server.stop()
        thread.join(30)
    assert not thread.is_alive()


@pytest.mark.root
def test_it_refuses_to_be_root(base: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to be refused")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "testbed.lab.agent", "serve", str(base)],
        env=environment(), input=b"{}", capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, b"the agent runs as an ordinary user, not as root\n")
    assert list(base.iterdir()) == []
