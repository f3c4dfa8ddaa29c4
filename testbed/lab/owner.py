"""Our identity for the agents: a name for people, and tokens that prove our leases.

Tokens come from one secret of this user on this machine and the name of what is leased. So there is nothing to lose:
after kill -9 at any moment the next command proves the same leases. A lock keeps two commands of one user out of one
lab at once.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import hmac
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workloads.errors import HostCapabilityError, LabError
from workloads.trusted import open_private

__all__ = ["LabOwner", "state_folder"]

_SECRET_BYTES = 32


def state_folder() -> Path:
    """$XDG_STATE_HOME/ina-testbed, or ~/.local/state/ina-testbed."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "ina-testbed"


class LabOwner:
    def __init__(self, lab: str, folder: Path | None = None) -> None:
        """Raises HostCapabilityError when the secret can be neither read nor made."""
        self.lab = lab
        self.name = f"{getpass.getuser()}@{socket.gethostname()}"
        self._folder = folder or state_folder()
        self._secret = _secret(self._folder / "lab-secret")

    def token(self, host: str, resource: str) -> str:
        """Never to be shown or logged."""
        return hmac.new(self._secret, f"{self.lab}/{host}/{resource}".encode(), hashlib.sha256).hexdigest()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other command of this user changes this lab meanwhile. Raises LabError. The lock ends with its process."""
        handle = open_private(self._folder / f"lab-{self.lab}.lock")
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = os.pread(handle, 20, 0).decode(errors="replace").strip()
                raise LabError(self.lab, f"another command of yours uses this lab (process {pid})") from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(handle)


def _secret(path: Path) -> bytes:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            os.write(handle, secrets.token_bytes(_SECRET_BYTES))
            os.fsync(handle)
            os.close(handle)
            try:
                os.link(fresh, path)
            except FileExistsError:
                pass  # another command was first
            finally:
                fresh.unlink()
        found = path.read_bytes()
    except OSError as error:
        raise HostCapabilityError(
            f"a folder for state ({path.parent}: {error.strerror})", "set XDG_STATE_HOME"
        ) from error
    if len(found) != _SECRET_BYTES:
        raise HostCapabilityError(
            f"a whole secret in {path}", "remove it; leases of yours that run can then be broken only"
        )
    return found
