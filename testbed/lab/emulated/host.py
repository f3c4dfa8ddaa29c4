"""One emulated host: namespaces that stay (network, mounts, name), and in them a process 1 that can be power-cycled.

    keeper -> holder (has network and mounts; ends with the keeper) -> starter -> process 1 -> sshd, card

Each is bound to end with the one before it, and everything on the host with process 1. So nothing of a lab outlives its
keeper, also not after kill -9.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from testbed.kernel.ledger import Ledger
from testbed.kernel.mounts import (
    bind,
    make_private,
    mount_proc,
    mount_tmpfs,
    unshare_host,
    unshare_mounts,
    unshare_processes,
)
from testbed.kernel.processes import child_setup, identify, name_process
from testbed.lab.emulated.shape import BASE, CARD_LIBRARY, CARD_SOCKET, PYTHON, USER, site_packages, with_faults

__all__ = ["UID", "HostTask", "hold"]

_TOP = Path(__file__).resolve().parents[3]
SOURCES = Path("/run/host/sources")
"""folder where a card's process has its program from: hardware, as far as the lab knows"""
UID = 64_998
"""user id of user `lab`, which exists on emulated hosts only"""
_RUN_BYTES = 512 << 20
"""holds the trace of a card"""
_CAPABILITY = "security.capability"
_CAP_NET_RAW = 13
"""include/uapi/linux/capability.h"""
_SSHD = "/usr/sbin/sshd"


@dataclass(frozen=True, slots=True)
class HostTask:
    name: str
    address: str
    host_key: bytes
    """OpenSSH's format"""
    authorized: bytes
    """the public key of the lab's user"""
    disk_bytes: int
    clock_offset_s: float = 0.0
    card: tuple[str, ...] = ()
    """command line of the card's process; empty: no card here"""
    card_library: bytes = b""
    """simulation of a card in hardware"""


def hold(task: HostTask, ledger: Ledger, commands: socket.socket) -> None:
    """The holder; never returns. Over `commands` it sends `up PID`, and receives `cycle`, or `cycle FAULTS` of the
    card."""
    child_setup(os.getppid(), lambda process: ledger.note_process(process, f"holder {task.name}"))
    name_process(f"lab {task.name}")
    unshare_host()
    make_private()
    socket.sethostname(task.name)
    _make_files(task)
    (Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")).write_text("1")
    while True:
        starter, init = _start(task, ledger)
        commands.send(f"up {os.getpid()} {init}".encode())
        word, _, faults = commands.recv(4096).partition(b" ")
        if word != b"cycle":
            os._exit(0)
        if faults and task.card:
            task = replace(task, card=with_faults(task.card, faults.decode()))
        with contextlib.suppress(ProcessLookupError):
            os.kill(init, signal.SIGKILL)
        os.waitpid(starter, 0)


def _make_files(task: HostTask) -> None:
    packages, here = site_packages(), Path("/run")
    # What is mounted on /run hides what it is taken from, should that lie there.
    handle = os.open(packages, os.O_PATH | os.O_CLOEXEC)
    sources = os.open(_TOP, os.O_PATH | os.O_CLOEXEC)
    mount_tmpfs(here, _RUN_BYTES)
    host = here / "host"
    library = host / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    library.mkdir(parents=True)
    bind(Path(f"/proc/self/fd/{handle}"), library)
    os.close(handle)
    _make_python(host)
    if task.card_library:
        _write(Path(CARD_LIBRARY), task.card_library, 0o644)
    if task.card:
        SOURCES.mkdir()
        bind(Path(f"/proc/self/fd/{sources}"), SOURCES)
    os.close(sources)
    sshd = here / "sshd"
    sshd.mkdir(mode=0o755)
    _write(sshd / "host_key", task.host_key, 0o600)
    _write(sshd / "authorized_keys", task.authorized, 0o644)
    _write(sshd / "config", _sshd_config(task).encode(), 0o644)
    base = Path(BASE)
    base.mkdir()
    mount_tmpfs(base, task.disk_bytes, 0o700)
    os.chown(base, UID, UID)
    _write(host / "passwd", Path("/etc/passwd").read_bytes() + _passwd_line(), 0o644)
    bind(host / "passwd", Path("/etc/passwd"))
    if task.card:
        folder = Path(CARD_SOCKET).parent
        folder.mkdir(mode=0o700)
        os.chown(folder, UID, UID)


def _passwd_line() -> bytes:
    return f"{USER}:*:{UID}:{UID}:user of the lab:{BASE}:/bin/sh\n".encode()


def _make_python(host: Path) -> None:
    """A virtual environment whose interpreter may open raw sockets: what an administrator gives to the user of a
    lab."""
    python = Path(PYTHON)
    python.parent.mkdir(parents=True)
    shutil.copyfile(Path(sys.executable).resolve(), python)
    python.chmod(0o755)
    home = Path(getattr(sys, "_base_executable", sys.executable)).resolve().parent
    _write(host / "pyvenv.cfg", f"home = {home}\ninclude-system-site-packages = true\n".encode(), 0o644)
    # VFS_CAP_REVISION_2 with the effective bit: permitted is what it gets (include/uapi/linux/capability.h).
    os.setxattr(python, _CAPABILITY, struct.pack("<5I", 0x02000001, 1 << _CAP_NET_RAW, 0, 0, 0))


def _write(path: Path, data: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(handle, "wb") as file:
        file.write(data)
    path.chmod(mode)


def _sshd_config(task: HostTask) -> str:
    return f"""\
ListenAddress {task.address}:22
HostKey /run/sshd/host_key
AuthorizedKeysFile /run/sshd/authorized_keys
AllowUsers {USER}
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
PrintMotd no
MaxStartups 100
MaxSessions 100
Subsystem sftp internal-sftp
PidFile none
LogLevel ERROR
SetEnv INA_CLOCK_OFFSET={task.clock_offset_s:g} INA_NATIVE=0
"""


def _start(task: HostTask, ledger: Ledger) -> tuple[int, int]:
    """(pid of the starter, pid of process 1), as this pid namespace counts."""
    read, write = os.pipe()
    parent = os.getpid()
    starter = os.fork()
    if starter:
        os.close(write)
        said = os.read(read, 32)
        os.close(read)
        if not said:
            raise OSError(f"host {task.name} did not start")
        return starter, int(said)
    _child(lambda: _starter(task, ledger, parent, write))
    raise AssertionError("a child never returns")


def _child(act: Callable[[], None]) -> None:
    try:
        act()
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(1)


def _starter(task: HostTask, ledger: Ledger, parent: int, write: int) -> None:
    child_setup(parent, lambda process: ledger.note_process(process, f"starter {task.name}"))
    unshare_processes()
    gate_read, gate_write = os.pipe()
    init = os.fork()
    if init == 0:
        os.close(gate_write)
        _child(lambda: _init(task, gate_read))
    process = identify(init)
    if process is not None:
        ledger.note_process(process, f"host {task.name}")
    os.close(gate_read)
    os.write(gate_write, b"g")
    os.write(write, str(init).encode())
    os.close(write)
    os.waitpid(init, 0)
    os._exit(0)


def _init(task: HostTask, gate: int) -> None:
    """Process 1. The gate closes with our parent, if the parent ends before it is bound to us."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    if os.read(gate, 1) != b"g":
        os._exit(1)
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    unshare_mounts()
    mount_proc()
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    quiet = {"stdin": subprocess.DEVNULL, "env": environment, "start_new_session": True}
    sshd = [_SSHD, "-D", "-e", "-f", "/run/sshd/config"]
    # The address may come after us.
    running = {"sshd": subprocess.Popen(sshd, **quiet)}  # type: ignore[call-overload]
    if task.card:
        card_environment = {**environment, "PYTHONPATH": str(SOURCES), "HOME": BASE, "PYTHONDONTWRITEBYTECODE": "1"}
        as_user = {"user": UID, "group": UID, "extra_groups": [], "cwd": "/"}
        log = open(Path(CARD_SOCKET).with_suffix(".log"), "ab")  # noqa: SIM115
        subprocess.Popen(  # type: ignore[call-overload]
            task.card, **{**quiet, **as_user, "env": card_environment, "stdout": log, "stderr": log}
        )
    while True:
        try:
            pid, _ = os.wait()
        except ChildProcessError:
            time.sleep(0.1)
            continue
        if pid == running["sshd"].pid:
            time.sleep(0.05)
            running["sshd"] = subprocess.Popen(sshd, **quiet)  # type: ignore[call-overload]
