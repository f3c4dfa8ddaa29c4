"""Disks that are full and memory that is spent: reported as a lack of this machine, with the folder or the figure."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from workloads.errors import HostCapabilityError

__all__ = ["address_space", "lack_of", "needs_room", "require_memory"]

_LEAST_BYTES = 400 << 20
_ELSEWHERE = "name another folder: --out DIR"
_FULL_BYTES = 1 << 20
"""a file system with less is the one that refused a write"""
_NO_FILES = (errno.EMFILE, errno.ENFILE)
_NO_ROOM = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG}


def lack_of(error: BaseException, folder: Path, what: str = "this run") -> HostCapabilityError | None:
    """What this machine lacks where that is why a write below `folder`, or `what`, failed. This is room on the disk (or
    in a quota, or in a limit of sizes), memory, or files to open. None: the error says nothing of the kind."""
    if _is_of_memory(error):
        return _no_memory(error, what)
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return _no_room(folder, error)
    return _no_files(what) if _is_of_files(error) else None


def require_memory(what: str) -> None:
    """Raises HostCapabilityError where a limit leaves less than the libraries take that we load: some of them end the
    process when they get none."""
    limit = address_space()
    if limit is not None and limit < _LEAST_BYTES:
        raise HostCapabilityError(
            f"enough memory for {what} (limited to {limit:,} bytes by ulimit -v)",
            f"{_LEAST_BYTES:,} bytes are the least; try: ulimit -v unlimited",
        )


def _is_of_files(error: BaseException | None) -> bool:
    """That no more files could be opened: here, or in a process that reported it in words."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_FILES:
            return True
        if any(os.strerror(number) in str(error) for number in _NO_FILES):
            return True
        error = error.__cause__ or error.__context__
    return False


def _no_files(what: str) -> HostCapabilityError:
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return HostCapabilityError(
        f"enough open files for {what} (limited to {limit:,} by ulimit -n)", "try: ulimit -n 4096"
    )


def _is_of_memory(error: BaseException | None) -> bool:
    """Whether there was too little memory; a library that cannot be mapped reports it in words only."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    return isinstance(error, ImportError | OSError) and (
        "failed to map segment" in str(error) or "cannot allocate memory" in str(error).lower()
    )


def _no_memory(error: BaseException, what: str) -> HostCapabilityError:
    """With the limit of the process, where it has one."""
    told = error.strerror if isinstance(error, OSError) and error.strerror else "" if _is_import(error) else str(error)
    limit = address_space()
    limited = "" if limit is None else f"limited to {limit:,} bytes by ulimit -v"
    more = "; ".join(filter(None, [told, limited]))
    return HostCapabilityError(
        f"enough memory for {what}" + (f" ({more})" if more else ""),
        "smaller sizes need less: size, scale, workload.elements, number of jobs",
    )


def _is_import(error: BaseException) -> bool:
    """Its text is advice about installing."""
    return isinstance(error, ImportError)


def address_space() -> int | None:
    """Most bytes that this process may address (ulimit -v); None: no limit."""
    try:
        import resource
    except ImportError:  # other systems have no such limits
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _no_room(folder: Path, error: OSError) -> HostCapabilityError:
    where, free = _refusing(folder, error)
    return HostCapabilityError(
        f"room in {error.filename or where} ({error.strerror}{free})",
        "make room there, or " + ("set TMPDIR to another folder" if where != folder else _ELSEWHERE),
    )


def _refusing(folder: Path, error: OSError) -> tuple[Path, str]:
    """The folder whose file system refused, and what is free there, in words. A write to an open file names none: then
    it is the one without room, of those that we write to. Where all have some, the message names none."""
    if isinstance(error.filename, str | bytes):
        named = Path(os.fsdecode(error.filename)).absolute()
        return folder, _free(next(place for place in (named, *named.parents) if place.exists()))
    for place in (folder, Path(tempfile.gettempdir()), Path.cwd()):
        with contextlib.suppress(OSError):
            status = os.statvfs(place)
            if status.f_bavail * status.f_frsize < _FULL_BYTES or (status.f_files and not status.f_favail):
                return place, _free(place)
    return folder, ""


def _free(place: Path) -> str:
    with contextlib.suppress(OSError):
        status = os.statvfs(place)
        if status.f_files and not status.f_favail:
            return ", no file more can be made"
        return f", {status.f_bavail * status.f_frsize:,} bytes are free"
    return ""


@contextlib.contextmanager
def needs_room(folder: Path) -> Iterator[None]:
    """Raises HostCapabilityError for what cannot be written below `folder`, or done, because there is no room."""
    try:
        yield
    except OSError as error:
        lack = lack_of(error, folder)
        if lack is None:
            raise
        raise lack from error
