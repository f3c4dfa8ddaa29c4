"""Folders for a while, below the folder for temporary files. Their name says which process made them, so that
`tb cleanup` finds those of dead processes, also after kill -9 at any moment."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from workloads.trusted import trusted_users

__all__ = ["make_scratch", "remove_dead_scratch", "scratch"]

_NAME = re.compile(r"ina-(\d+)-(\d+)-(\d+)-([0-9a-f]{8})-.+\Z")
"""pid, its start, its pid namespace, its boot"""
_USUAL = (Path("/tmp"), Path("/var/tmp"))


def make_scratch(parent: Path | None = None) -> Path:
    """A folder that only we can enter. `parent`: None: the folder for temporary files."""
    return Path(tempfile.mkdtemp(prefix=f"{_own_prefix()}-", dir=parent))


@contextlib.contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A folder that only we can enter; it is removed at the end."""
    folder = make_scratch(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_dead_scratch(parents: Iterable[Path] | None = None) -> list[str]:
    """Folders of processes that are dead, whose owner we trust, in the folders for temporary files or in `parents`;
    what was removed, for people."""
    done = []
    for parent in dict.fromkeys((Path(tempfile.gettempdir()), *_USUAL) if parents is None else parents):
        try:
            entries = sorted(os.scandir(parent), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            found = _NAME.match(entry.name)
            if found is None or not _is_ours(entry) or not _is_dead(*found.groups()):
                continue
            shutil.rmtree(entry.path, ignore_errors=True)  # follows no links
            if not os.path.lexists(entry.path):
                done.append(f"folder {entry.path}")
    return done


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # its process removed it meanwhile
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid in trusted_users() and not status.st_mode & 0o077


def _own_prefix() -> str:
    if not Path("/proc/self").exists():  # other systems: nothing shows which process made it
        return "ina"
    from testbed.kernel.processes import boot_id, identify, pid_namespace

    own = identify(os.getpid())
    assert own is not None, "we are alive"
    return f"ina-{own.pid}-{own.start}-{pid_namespace()}-{boot_id()[:8]}"


def _is_dead(pid: str, start: str, namespace: str, boot: str) -> bool:
    """True also after a boot of the machine. False for another pid namespace, where it is
    unknown."""
    from testbed.kernel.processes import ProcessId, boot_id, is_alive, pid_namespace

    if boot != boot_id()[:8]:
        return True
    return int(namespace) == pid_namespace() and not is_alive(ProcessId(int(pid), int(start)))
