"""`tb lab up --emulated` and `tb lab down`: start the keeper, end it."""

from __future__ import annotations

import os
import select
import shutil
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from testbed.kernel.cleanup import clean
from testbed.kernel.ledger import LEDGER_NAME, read_ledger, state_dir
from testbed.kernel.processes import is_alive
from testbed.lab.agent.protocol import decode, encode
from testbed.lab.agent.requests import Request, read_answer, write_request
from testbed.lab.emulated.messages import Keeping, TakeDown
from testbed.lab.emulated.shape import LabShape
from workloads.codec import PLAIN
from workloads.errors import HostCapabilityError, InternalError, LabError

__all__ = ["ask_keeper", "emulated_inventory", "lab_down", "lab_folder", "lab_up"]

_UP_TIMEOUT_S = 60.0
_DOWN_TIMEOUT_S = 15.0
_Answer = TypeVar("_Answer")


def lab_folder(name: str) -> Path:
    return state_dir() / f"lab-{name}"


def emulated_inventory(name: str = "emulated") -> Path | None:
    """Of the emulated lab of this name, when it is up."""
    path = lab_folder(name) / "lab.yaml"
    return path if path.is_file() and _keeper_lives(path.parent) else None


def _keeper_lives(folder: Path) -> bool:
    owner, _ = read_ledger(folder)
    return owner is not None and is_alive(owner.process)


def lab_up(shape: LabShape, tell: Callable[[str], None] | None = None) -> Path:
    """Build it; returns its inventory when everything answers. `tell`: a line for people where it takes long. Raises
    HostCapabilityError, LabError, InternalError."""
    if os.geteuid() != 0:
        raise HostCapabilityError("root: an emulated lab is made of namespaces", "try: sudo ./tb lab up --emulated")
    if not shutil.which("sshd", path="/usr/sbin"):
        raise HostCapabilityError("sshd", "./tb installs it; by hand: apt-get install openssh-server")
    _require_readable_python()
    folder = lab_folder(shape.name)
    if folder.exists():
        if _keeper_lives(folder):
            raise LabError(shape.name, f"this lab is up: {folder / 'lab.yaml'}; first: tb lab down")
        clean(folder.name)
    # Loaded once, before the forks.
    import pyroute2  # noqa: F401

    from testbed.lab.emulated.hardware import library_of
    from testbed.lab.emulated.keeper import keep

    library_of(shape, tell)  # takes minutes the first time, longer than we wait for the keeper

    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setsid()
        if os.fork():
            os._exit(0)
        _detach()
        keep(shape, folder.name, write)
        os._exit(70)
    os.close(write)
    os.waitpid(child, 0)
    try:
        said = _hear(read)
    finally:
        os.close(read)
    if said.error is not None:
        from testbed.history.codec import error_from

        raise error_from(said.error)
    return Path(said.folder) / "lab.yaml"


def _detach() -> None:
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)


def _hear(handle: int) -> Keeping:
    deadline, data = time.monotonic() + _UP_TIMEOUT_S, b""
    while time.monotonic() < deadline:
        ready, _, _ = select.select([handle], [], [], 1.0)
        if not ready:
            continue
        more = os.read(handle, 65_536)
        data += more
        if not more or data.endswith(b"\n"):
            break
    if not data:
        raise InternalError("the keeper of the lab ended without a word")
    return PLAIN.decode(Keeping, decode(data))


def _require_readable_python() -> None:
    """An ordinary user of the hosts runs it."""
    import sysconfig

    library = Path(sysconfig.get_paths()["stdlib"])
    for folder in (library, *library.parents):
        if not folder.stat().st_mode & 0o001:
            raise HostCapabilityError(
                f"a Python that an ordinary user may read ({folder} is closed to others)",
                "./tb makes .venv from /usr/bin/python3, which will do",
            )


def ask_keeper(folder: Path, request: Request[_Answer]) -> _Answer:
    """Raises LabError."""
    from testbed.lab.emulated.keeper import KEEPER_SOCKET

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_DOWN_TIMEOUT_S)
        try:
            connection.connect(str(folder / KEEPER_SOCKET))
            connection.sendall(encode(write_request(request)))
            answer = decode(connection.recv(65_536))
        except (OSError, ValueError) as error:
            raise LabError(folder.name, f"the keeper of the lab does not answer: {error}") from None
    if not answer.get("ok"):
        raise LabError(folder.name, str(answer.get("problem", "the keeper refused")))
    return read_answer(request, answer.get("value"))


def lab_down(name: str = "emulated") -> tuple[str, ...]:
    """End it and remove everything; what was removed, for people. Raises LabError when there is none, when something
    resists, or when its folder stays, since others left files there."""
    folder = lab_folder(name)
    if not folder.exists():
        raise LabError(name, "no such lab is up")
    removed = _end(folder) if _keeper_lives(folder) else clean(folder.name)
    if (folder / LEDGER_NAME).exists():
        raise LabError(
            name, f"not all of it could be removed; what is left is in {folder / LEDGER_NAME}; tb lab down tries again"
        )
    if folder.exists():
        strangers = ", ".join(sorted(path.name for path in folder.iterdir()))
        raise LabError(name, f"it is down, but {folder} stays, with what is not its own: {strangers}")
    return removed


def _end(folder: Path) -> tuple[str, ...]:
    owner, _ = read_ledger(folder)
    ask_keeper(folder, TakeDown())
    deadline = time.monotonic() + _DOWN_TIMEOUT_S
    while owner is not None and is_alive(owner.process):
        if time.monotonic() > deadline:
            return clean(folder.name, force=True)
        time.sleep(0.02)
    return (folder.name.replace("-", " ", 1),)
