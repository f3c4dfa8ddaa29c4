"""Soft RoCE (rdma_rxe) of this kernel: whether it has it, and devices on interfaces of the calling thread's network
namespace."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from workloads.errors import HostCapabilityError
from workloads.verbs.gids import device_names

__all__ = ["MODULES", "add_rxe", "has_rxe", "load_rxe", "run_command"]

MODULES = ("rdma_rxe", "ib_uverbs", "rdma_ucm")
_MODULE = "kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko"
_LIMIT_S = 30
Run = Callable[[Sequence[str]], str]
"""Runs a command; "" when it succeeded, else what it said."""


def has_rxe(release: str = "", root: Path = Path("/")) -> bool:
    """Whether rdma_rxe is loaded, built in, or a module of this kernel. `release`: of the running kernel, unless
    given."""
    if (root / "sys" / "module" / "rdma_rxe").is_dir():
        return True
    folder = root / "lib" / "modules" / (release or platform.release())
    try:
        built_in = _MODULE in (folder / "modules.builtin").read_text(encoding="utf-8").split()
    except OSError:
        built_in = False
    return built_in or bool(list((folder / _MODULE).parent.glob("rdma_rxe.ko*")))


def run_command(command: Sequence[str]) -> str:
    """A `Run`: no input, at most half a minute."""
    try:
        done = subprocess.run(
            list(command), capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        return f"there is no program {command[0]}"
    except subprocess.TimeoutExpired:
        return f"no end after {_LIMIT_S} s"
    if done.returncode == 0:
        return ""
    return (done.stderr or done.stdout).strip().replace("\n", " / ") or f"exit {done.returncode}"


def load_rxe(
    run: Run = run_command, loaded: Callable[[], bool] = lambda: Path("/sys/module/rdma_rxe").is_dir()
) -> None:
    """Load the modules, unless rxe is there already. Raises HostCapabilityError."""
    if loaded():
        return
    said = run(["modprobe", "-a", *MODULES])
    if said:
        raise HostCapabilityError(f"the kernel modules {', '.join(MODULES)} (modprobe: {said})", _KERNEL)


_KERNEL = "boot a kernel that has them (Debian's linux-image-amd64; the cloud variant has not)"


def add_rxe(
    device: str, interface: str, run: Run = run_command, names: Callable[[], Sequence[str]] = device_names
) -> None:
    """Make `device` on an interface. It goes with the interface. Raises HostCapabilityError when the kernel refuses, or
    when the device does not appear where we are."""
    said = run(["rdma", "link", "add", device, "type", "rxe", "netdev", interface])
    if said:
        raise HostCapabilityError(
            f"what it takes to make the RDMA device {device} on {interface} (rdma: {said})",
            "root, the Debian package iproute2, and a kernel whose rdma_rxe works in this network namespace",
        )
    if device not in names():
        raise HostCapabilityError(
            f"the RDMA device {device} in this network namespace: the kernel made it elsewhere",
            "a kernel whose rdma_rxe works in network namespaces (that of Linux 6.1 knows the initial one only)",
        )
