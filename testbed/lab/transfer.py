"""Files to and from a host, by SFTP: whole or not there, of bounded size and time, and nowhere but where we want
them."""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testbed.lab.ssh import Shell
from workloads.errors import LabError

__all__ = ["MAX_FILE", "local_name", "receive", "send"]

MAX_FILE = 256 << 20
"""bytes of one collected file"""
_BLOCK = 1 << 18
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z", re.ASCII)


def local_name(host: str, name: object) -> str:
    """A file name that a host reported, when it is one that leads nowhere else. Raises LabError."""
    if not isinstance(name, str) or not _NAME.match(name) or ".." in name:
        raise LabError(host, f"it names a file {str(name)[:100]!r}; allowed: letters, digits and . _ - (no folders)")
    return name


@contextlib.contextmanager
def _sftp(shell: Shell, timeout_s: float) -> Iterator[Any]:
    from paramiko import SFTPClient, SFTPError, SSHException

    client = None
    try:
        client = SFTPClient.from_transport(shell.connection.transport)
        client.get_channel().settimeout(timeout_s)
        yield client
    except (SSHException, SFTPError, OSError, EOFError) as error:
        late = isinstance(error, TimeoutError)
        problem = f"no answer within {timeout_s:g} s" if late else str(error) or type(error).__name__
        raise LabError(shell.host.name, f"file transfer: {problem}{_disk_hint(shell, late)}") from error
    finally:
        if client is not None:
            client.close()


def _disk_hint(shell: Shell, late: bool) -> str:
    """SFTP says only "Failure" where the disk is full."""
    if late:
        return ""
    with contextlib.suppress(LabError):
        found = shell.run(["df", "-P", shell.host.base], check=False, timeout_s=5.0).text.splitlines()
        if len(found) > 1 and int(found[-1].split()[3]) < 1024:
            return f"; its disk is full ({shell.host.base})"
    return ""


def send(shell: Shell, data: bytes, path: str, *, timeout_s: float | None = None) -> bool:
    """False when a file of this size is there: names of ours say what is in them. Raises LabError."""
    limit = shell.host.command_timeout_s if timeout_s is None else timeout_s
    deadline = time.monotonic() + limit
    folder = path.rpartition("/")[0]
    with _sftp(shell, limit) as sftp:
        with contextlib.suppress(FileNotFoundError):
            if sftp.stat(path).st_size == len(data):
                return False
        shell.run(["mkdir", "-p", "-m", "700", folder])
        fresh = f"{folder}/.part-{secrets.token_hex(4)}"
        try:
            with sftp.open(fresh, "wb") as file:
                file.set_pipelined(True)
                for at in range(0, len(data), _BLOCK):
                    if time.monotonic() > deadline:
                        raise LabError(shell.host.name, f"{len(data)} bytes were not sent within {limit:g} s")
                    file.write(data[at : at + _BLOCK])
            if sftp.stat(fresh).st_size != len(data):
                raise OSError("the file is not whole")
            sftp.posix_rename(fresh, path)
        except BaseException:
            with contextlib.suppress(Exception):
                sftp.remove(fresh)
            raise
    return True


def receive(
    shell: Shell, path: str, target: Path, *, sha256: str | None = None, most: int = MAX_FILE, timeout_s: float = 60.0
) -> int:
    """Bytes that came. A symbolic link is not followed. Raises LabError; then `target` is not there."""
    host, deadline = shell.host.name, time.monotonic() + timeout_s
    whole, digest = 0, hashlib.sha256()
    with _sftp(shell, timeout_s) as sftp:
        mode = sftp.lstat(path).st_mode
        if mode is None or not stat.S_ISREG(mode):
            raise LabError(host, f"{path} is no plain file")
        try:
            with sftp.open(path, "rb") as file, target.open("xb") as here:
                file.prefetch(min(sftp.stat(path).st_size or 0, most + 1))
                while block := file.read(_BLOCK):
                    whole += len(block)
                    if whole > most:
                        raise LabError(host, f"{path} has more than {most} bytes")
                    if time.monotonic() > deadline:
                        raise LabError(host, f"{path} did not come within {timeout_s:g} s")
                    digest.update(block)
                    here.write(block)
            if sha256 is not None and digest.hexdigest() != sha256:
                raise LabError(host, f"{path} is not what the host said that it is")
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    return whole
