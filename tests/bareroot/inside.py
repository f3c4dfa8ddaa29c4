"""Runs one command in a root. Process 1 of namespaces that `unshare` made: python3 -m tests.bareroot.inside ROOT
STEP.json

The step: `command`, `environment`, `folder`, `binds` (folder of this machine -> folder of the root), `offline`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import stat
import struct
import subprocess
import sys
from pathlib import Path

__all__ = ["main"]

_DEVICES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "tty": (5, 0),
    "net/tun": (10, 200),
}
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def main(root: Path, step: dict[str, object]) -> int:
    """Its exit status. Ends what it left behind with the namespace."""
    _mount_all(root, dict(step["binds"]))  # type: ignore[call-overload]
    if step["offline"]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
    # Not chroot: what runs there makes mounts private and namespaces of its own, which asks for a root that is a mount.
    os.chdir(root)
    subprocess.run(["pivot_root", ".", "."], check=True)
    subprocess.run(["umount", "--lazy", "."], check=True)
    os.chdir(str(step["folder"]))
    child = subprocess.Popen(list(step["command"]), env=dict(step["environment"]))  # type: ignore[call-overload]
    while True:
        # Process 1 is the parent of all whose own has ended: it must take their statuses.
        pid, status = os.wait()
        if pid == child.pid:
            return os.waitstatus_to_exitcode(status)


def _mount_all(root: Path, binds: dict[str, str]) -> None:
    _mount("--make-rprivate", "/")
    _mount("--bind", str(root), str(root))
    for kind, place, options in (
        ("proc", "proc", ""),
        ("sysfs", "sys", ""),
        ("tmpfs", "dev", "mode=755"),
        ("tmpfs", "run", "mode=755"),
    ):
        _mount("-t", kind, *(["-o", options] if options else []), kind, str(root / place))
    for name, (major, minor) in _DEVICES.items():
        path = root / "dev" / name
        path.parent.mkdir(exist_ok=True)
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        path.chmod(0o666)
    for folder in ("pts", "shm"):
        (root / "dev" / folder).mkdir()
    _mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620", "devpts", str(root / "dev/pts"))
    _mount("-t", "tmpfs", "tmpfs", str(root / "dev/shm"))
    for name, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0")):
        (root / "dev" / name).symlink_to(target)
    for name, number in (("stdout", 1), ("stderr", 2)):
        (root / "dev" / name).symlink_to(f"/proc/self/fd/{number}")
    if Path("/sys/fs/cgroup").is_mount() and (root / "sys/fs/cgroup").is_dir():
        _mount("--rbind", "/sys/fs/cgroup", str(root / "sys/fs/cgroup"))
    for source, target in binds.items():
        place = root / target.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        _mount("--bind", source, str(place))


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))))
    sys.exit(130)
