"""Folders that no other user can change. We often run as root, and the files of a folder then control what root does. A
ledger names processes to end, a library is loaded, a link redirects a write. So a folder is used only when it, and
every folder and link on the way to it, belongs to a trusted user. Trusted users are root, our own user, the caller of
sudo, and the owner of this code (who could change what we run anyhow). No one else may be able to write there. A folder
on the way may be open to all when it is sticky (`/tmp`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path, PurePath

from workloads.errors import ScenarioError
from workloads.visible import visible

__all__ = [
    "allowed_folders", "caller_of_sudo", "distrust", "make_folder", "open_private", "require_trusted", "trusted_users",
    "trusts_inside", "write_file", "write_named",
]  # fmt: skip

_CODE = Path(__file__).resolve().parent
_MOST_LINKS = 40
_GROUP, _ALL = 0o020, 0o002
_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR)
_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def trusts_inside(path: Path) -> bool:
    """Whether `distrust` would find nothing wrong with a file whose folder it has seen. For a plain file of a trusted
    user, it takes one look."""
    if hasattr(os, "geteuid"):
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode) and status.st_uid in trusted_users():
            return True
    return distrust(path) is None


def trusted_users() -> frozenset[int]:
    """User ids that may own what we obey."""
    users = {0, os.geteuid(), _CODE.stat().st_uid}
    if (caller := caller_of_sudo()) is not None:
        users.add(caller)
    return frozenset(users)


def caller_of_sudo() -> int | None:
    """User id of the user who called sudo; None: this is not root, or sudo was not used."""
    user = os.environ.get("SUDO_UID", "")
    if not hasattr(os, "geteuid") or os.geteuid() != 0:  # other systems have no such thing
        return None
    return int(user) if user.isdecimal() else None


def make_folder(folder: Path, *, fresh: bool = False) -> None:
    """Make a folder and its missing parents. Under sudo they belong to the caller, who may then run commands without
    sudo in the same place. Raises OSError; `fresh`: FileExistsError where the folder exists already."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=not fresh)
    caller = caller_of_sudo()
    if caller is None:
        return
    for path in missing:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(handle).st_uid == 0:  # the caller may have put another one there
                os.fchown(handle, caller, -1)
        finally:
            os.close(handle)


def distrust(path: Path) -> str | None:
    """Why another user could change what lies at `path`, with the place and its owner; None: no other user could. If
    `path` does not exist yet, the folders on the way to it decide."""
    if not hasattr(os, "geteuid"):  # other systems have other owners
        return None
    users, last = trusted_users(), path.absolute()
    steps = list(_steps(last))
    for number, (place, status) in enumerate(steps):
        if status.st_uid not in users and not stat.S_ISCHR(status.st_mode):  # a terminal belongs to who sits there
            return f"{place} belongs to user {_user(status.st_uid)}"
        if not stat.S_ISDIR(status.st_mode):
            continue
        who = _writers(status, users)
        is_last = number == len(steps) - 1 and os.path.exists(last)
        if who is not None and (is_last or not status.st_mode & stat.S_ISVTX):
            return f"{who} can write to {place}, which belongs to user {_user(status.st_uid)}"
    return None


def require_trusted(folder: Path, *, key: str | None = None, file: str | None = None) -> None:
    """Raises ScenarioError for a folder that another user could change. `key`, `file`: what named it."""
    problem = distrust(folder)
    if problem is not None:
        raise ScenarioError(
            "others could change what is in this folder", file=file or str(folder), key=key, found=problem,
            allowed=allowed_folders(),
        )  # fmt: skip


def allowed_folders() -> str:
    """For messages."""
    users = " or ".join(_user(user) for user in sorted(trusted_users()))
    return f"a folder of user {users}, below such folders, to which no other user can write"


def write_file(path: Path, data: bytes | str, mode: int | None = None) -> None:
    """All of it or nothing, in a folder that is there; a link that has this name is not followed. Of text, characters
    that cannot be seen are escaped. `mode`: of the file, in place of the usual one. Raises ScenarioError where another
    user could change the folder on the way or owns a file of this name, OSError with the file's name."""
    require_trusted(path)
    found = _bytes_of(data)
    if not hasattr(os, "geteuid"):
        path.write_bytes(found)
        return
    scratch, folder = f".ina-{os.urandom(8).hex()}", None  # of a length of its own: a name may have 255 bytes
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        handle = os.open(scratch, _FRESH, 0o644, dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                os.fchmod(handle, stat.S_IMODE(mode))
            file.write(found)
        os.replace(scratch, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        if folder is not None:
            with contextlib.suppress(OSError):
                os.unlink(scratch, dir_fd=folder)
        raise type(error)(error.errno, error.strerror, str(path)) from error
    finally:
        if folder is not None:
            os.close(folder)


def _bytes_of(data: bytes | str) -> bytes:
    return visible(data).encode() if isinstance(data, str) else data


def open_private(path: Path) -> int:
    """A handle to read and write a file of our own, as a lock; it is made, and its folder, where they are not there. No
    link is followed. Raises ScenarioError where another user could change it, or it is no plain file of its own."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    require_trusted(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise _no_own_file(path, error.strerror or str(error)) from error
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_uid not in trusted_users() or status.st_nlink != 1:
        os.close(handle)
        raise _no_own_file(path, "another kind of file, another owner or another name of one")
    return handle


def _no_own_file(path: Path, found: str) -> ScenarioError:
    return ScenarioError("is not our own file", file=str(path), found=found, allowed="a plain file, or nothing there")


def write_named(path: Path, data: bytes | str, *, key: str) -> None:
    """A file that an option of the command line names: `key`. A plain file is replaced in one step and keeps its mode.
    A link, a device and a pipe stay, and the data goes through them. Raises ScenarioError also where it cannot be
    written."""
    require_trusted(path, key=key)
    try:
        mode = path.lstat().st_mode if os.path.lexists(path) else None
        if (mode is None or stat.S_ISREG(mode)) and os.access(path.parent, os.W_OK):
            write_file(path, data, mode)
        else:
            with open(path, "wb") as file:
                file.write(_bytes_of(data))
    except OSError as error:
        raise ScenarioError(
            "cannot be written", file=str(path), key=key, found=str(error.strerror or error),
            allowed="a file in a folder that is there" if error.errno in _NOWHERE else None,
        ) from error  # fmt: skip


def _steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every folder and link on the way to an absolute path, and what it leads to, as far as they are there."""
    at, parts, links = Path(path.anchor), deque(path.parts[1:]), 0
    yield at, at.lstat()
    while parts:
        name = parts.popleft()
        if name == "..":
            at = at.parent  # no link is on the way any more
            continue
        try:
            status = (at / name).lstat()
        except OSError:  # not there, or not for us to see: then nothing can be used there, either
            return
        yield at / name, status
        if not stat.S_ISLNK(status.st_mode):
            at /= name
            continue
        links += 1
        if links > _MOST_LINKS:
            return
        target = PurePath(os.readlink(at / name))
        if target.is_absolute():
            at = Path(target.anchor)
        parts.extendleft(reversed(target.parts[1:] if target.is_absolute() else target.parts))


def _writers(status: os.stat_result, users: frozenset[int]) -> str | None:
    """Users who can write to a folder, except its owner and the trusted users. A group counts only when we are root.
    Otherwise our own user chose it."""
    if status.st_mode & _ALL:
        return "everybody"
    if os.geteuid() == 0 and status.st_mode & _GROUP and not _is_private(status.st_gid, users):
        return f"group {_group(status.st_gid)}"
    return None


def _is_private(group: int, users: frozenset[int]) -> bool:
    """Root's group, or one whose members are all trusted, as each user's own is on many systems."""
    import grp
    import pwd

    if group == 0:
        return True
    members = {entry.pw_uid for entry in pwd.getpwall() if entry.pw_gid == group}
    with contextlib.suppress(KeyError):
        for name in grp.getgrgid(group).gr_mem:
            with contextlib.suppress(KeyError):
                members.add(pwd.getpwnam(name).pw_uid)
        return members <= users
    return False


def _user(number: int) -> str:
    import pwd

    with contextlib.suppress(KeyError):
        return f"{pwd.getpwuid(number).pw_name} ({number})"
    return str(number)


def _group(number: int) -> str:
    import grp

    with contextlib.suppress(KeyError):
        return f"{grp.getgrgid(number).gr_name} ({number})"
    return str(number)
