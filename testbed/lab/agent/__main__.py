"""`python -m testbed.lab.agent serve BASE` (configuration on stdin), `... call BASE` (stdin and stdout <-> the socket).

Exit status: 0; 3: root, or not there; 75: another agent has the folder, or none runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import sys
import time
from pathlib import Path

_START_TIMEOUT_S = 20.0


def main(argv: list[str]) -> int:
    if len(argv) != 2 or argv[0] not in ("serve", "call"):
        print("usage: python -m testbed.lab.agent serve|call BASE", file=sys.stderr)
        return 64
    return _serve(Path(argv[1])) if argv[0] == "serve" else _call(Path(argv[1]))


def _serve(base: Path) -> int:
    """Returns when the agent answers, or says why it does not."""
    if os.getuid() == 0:
        print("the agent runs as an ordinary user, not as root", file=sys.stderr)
        return 3
    config = json.load(sys.stdin)
    read, write = os.pipe()
    if os.fork():
        os.close(write)
        ready, _, _ = select.select([read], [], [], _START_TIMEOUT_S)
        said = os.read(read, 2000).decode(errors="replace") if ready else "it does not come up"
        if said == "ready":
            return 0
        print(said or "the agent ended at once", file=sys.stderr)
        return 75
    os.setsid()
    if os.fork():
        os._exit(0)
    os.close(read)
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(base / "agent.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    for number, handle in ((0, null), (1, log), (2, log)):
        os.dup2(handle, number)
    os.chdir(base)
    _become_agent(base, config, write)
    os._exit(0)


def _become_agent(base: Path, config: dict[str, object], write: int) -> None:
    from testbed.lab.agent.backends import backends, process_argv
    from testbed.lab.agent.operations import Operations
    from testbed.lab.agent.server import AgentServer, heed_signals

    try:
        cards = config["cards"]
        assert isinstance(cards, dict)
        server = AgentServer(base, Operations(base, str(config["version"]), backends(cards), process_argv))
    except BaseException as error:
        os.write(write, f"{type(error).__name__}: {error}".encode())
        os._exit(1)
    heed_signals(server)
    os.write(write, b"ready")
    os.close(write)
    server.serve()


def _call(base: Path) -> int:
    from testbed.lab.agent.server import socket_path

    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deadline = time.monotonic() + 2.0
    while True:
        try:
            connection.connect(str(socket_path(base)))
            break
        except (FileNotFoundError, ConnectionRefusedError):
            print("no agent runs", file=sys.stderr)
            return 75
        except OSError as error:
            if time.monotonic() > deadline:
                print(f"no agent answers: {error.strerror}", file=sys.stderr)
                return 75
            time.sleep(0.05)
    while True:
        ready, _, _ = select.select([0, connection.fileno()], [], [])
        if connection.fileno() in ready:
            try:
                data = connection.recv(65_536)
            except ConnectionResetError:  # it ended before it read all of what we sent
                data = b""
            if not data:
                return 0
            view = memoryview(data)
            while view:
                view = view[os.write(1, view) :]
        elif 0 in ready:
            data = os.read(0, 65_536)
            if not data:
                return 0
            # One that does not listen may have told why: that is read first.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
