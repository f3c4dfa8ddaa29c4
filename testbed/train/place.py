"""Where a training's socket lies, and what else ranks need."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

from testbed.kernel.scratch import make_scratch
from workloads.errors import ScenarioError
from workloads.ranks.client import default_socket, untrusted_peer
from workloads.ranks.wire import Down, encode
from workloads.trusted import caller_of_sudo, distrust, require_trusted

__all__ = ["SOCKET_NAME", "default_place", "end_network", "give_to_caller", "make_place", "remove_dead_place"]

SOCKET_NAME = "ranks.sock"
_LONGEST_PATH = 107
"""bytes of a unix socket's path, as the kernel has it"""


def default_place() -> Path:
    """Of `tb up`: where the backend looks by itself."""
    return Path(default_socket()).parent


def make_place(wanted: Path | None) -> Path:
    """A folder that no other user can enter. Raises ScenarioError where a network is up already, or another user's
    folder lies."""
    if wanted is None:
        return make_scratch(Path("/tmp"))  # TMPDIR may be too long for a socket
    if len(os.fsencode(wanted / SOCKET_NAME)) > _LONGEST_PATH:
        raise ScenarioError(
            "too long for a socket", file="tb up", key="--place", found=str(wanted),
            allowed=f"a path of at most {_LONGEST_PATH - len(SOCKET_NAME) - 1} bytes",
        )  # fmt: skip
    try:
        wanted.mkdir(mode=0o700)
    except FileNotFoundError as error:
        raise ScenarioError(
            "no such folder", file="tb up", key="--place", found=str(wanted.parent), allowed="one that is there"
        ) from error
    except FileExistsError:
        require_trusted(wanted, file="tb up", key="--place")
        if _is_served(wanted / SOCKET_NAME):
            raise ScenarioError(
                "a network is up already", file="tb up", found=str(wanted), allowed="`tb down` ends it"
            ) from None
        _clear(wanted)
    return wanted


def remove_dead_place() -> str | None:
    """What a killed `tb up` left where the backend looks; what was removed, for people."""
    folder = default_place()
    if not folder.is_dir() or folder.is_symlink() or distrust(folder) is not None or _is_served(folder / SOCKET_NAME):
        return None
    with contextlib.suppress(ScenarioError, OSError):  # something else lies there, too
        _clear(folder)
        folder.rmdir()
        return f"folder {folder}"
    return None


def give_to_caller(folder: Path) -> None:
    """Ranks run as who called sudo, not as root."""
    caller = caller_of_sudo()
    if caller is not None:
        for path in (folder, folder / SOCKET_NAME):
            os.chown(path, caller, -1)


def end_network(place: Path, timeout_s: float) -> None:
    """Ask the network of `tb up` to end, and wait until it has. Raises ScenarioError when there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(timeout_s)
        try:
            client.connect(str(place / SOCKET_NAME))
        except OSError as error:
            raise ScenarioError(
                "no network is up",
                file="tb down",
                found=f"no program listens in {place}",
                allowed="one of `tb up SCENARIO`",
            ) from error
        if (stranger := untrusted_peer(client)) is not None:
            raise ScenarioError("is the network of another user", file="tb down", found=f"{place}, of user {stranger}")
        client.sendall(encode(Down()))
        with contextlib.suppress(ConnectionResetError):
            while client.recv(4096):
                pass


def _is_served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _clear(folder: Path) -> None:
    """What a killed `tb up` left: the socket, and the folder of the ranks' Python. Raises ScenarioError for anything
    else."""
    from testbed.train.site import remove_site

    remove_site(folder / "site")
    (folder / SOCKET_NAME).unlink(missing_ok=True)
    if any(folder.iterdir()):
        raise ScenarioError(
            "is no folder of `tb up`", file="tb up", key="--place", found=str(folder), allowed="a new or empty folder"
        )
