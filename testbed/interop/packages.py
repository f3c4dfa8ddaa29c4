"""Debian packages that the interop suite needs on the host. The guest runs what the host has in /usr, so they must be
installed, not only unpacked."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from workloads.errors import HostCapabilityError

__all__ = ["HOST_PACKAGES", "NATIVE_PACKAGES", "ensure_packages", "missing_packages", "package_version", "run_tool"]

HOST_PACKAGES = (
    "qemu-system-x86", "rdma-core", "ibverbs-providers", "ibverbs-utils", "python3-pyverbs", "python3-numpy",
    "perftest",
    "iproute2", "kmod",
)  # fmt: skip
"""qemu from 7.2 on (-netdev dgram). numpy: our worker in the guest computes gradients with it, under Debian's
Python."""

NATIVE_PACKAGES = tuple(package for package in HOST_PACKAGES if package != "qemu-system-x86")
"""packages for runs without a guest"""
_LOCK_WAIT = ("-o", "DPkg::Lock::Timeout=300")


def run_tool(
    command: Sequence[str], *, needed_for: str, remedy: str, cwd: Path | None = None, limit_s: int = 300
) -> str:
    """Its stdout. Raises HostCapabilityError with the end of its output when it fails or is not there."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, errors="replace", timeout=limit_s,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        raise HostCapabilityError(f"the program {command[0]}, needed for {needed_for}", remedy) from None
    except subprocess.TimeoutExpired:
        raise HostCapabilityError(f"{needed_for} ({command[0]} took more than {limit_s} s)", remedy) from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise HostCapabilityError(f"{needed_for} ({' '.join(command[:3])}: {' / '.join(lines)})", remedy)
    return done.stdout


def package_version(package: str) -> str | None:
    """Version of an installed Debian package; None when it is not installed. Raises HostCapabilityError where there is
    no dpkg."""
    if shutil.which("dpkg-query") is None:
        raise HostCapabilityError(
            "dpkg", "`tb interop` needs a Debian system: the guest's kernel and tools come from it"
        )
    done = subprocess.run(
        ["dpkg-query", "-W", "-f=${db:Status-Abbrev} ${Version}", package], capture_output=True, text=True, check=False
    )
    state, _, version = done.stdout.partition(" ")
    return version.strip() if done.returncode == 0 and state.startswith("ii") else None


def missing_packages(packages: Sequence[str] = HOST_PACKAGES) -> tuple[str, ...]:
    return tuple(package for package in packages if package_version(package) is None)


def ensure_packages(say: Callable[[str], None], *, packages: Sequence[str] = HOST_PACKAGES) -> None:
    """Install what is missing by apt-get, as root and unless TB_NO_APT is set; `say` is called before anything is
    changed. Raises HostCapabilityError with the command to give when it cannot."""
    missing = missing_packages(packages)
    if not missing:
        return
    by_hand = f"install them: sudo apt-get install --no-install-recommends {' '.join(missing)}"
    lacking = f"the Debian packages {', '.join(missing)}"
    if os.geteuid() != 0 or os.environ.get("TB_NO_APT"):
        raise HostCapabilityError(lacking, by_hand)
    say(f"installing Debian packages: {' '.join(missing)}")
    install = ["apt-get", "-q", "-y", *_LOCK_WAIT, "install", "--no-install-recommends", *missing]
    try:
        run_tool(install, needed_for=lacking, remedy=by_hand, limit_s=900)
    except HostCapabilityError:
        # The lists may be older than what the mirror holds.
        run_tool(["apt-get", "-q", *_LOCK_WAIT, "update"], needed_for=lacking, remedy=by_hand)
        run_tool(install, needed_for=lacking, remedy=by_hand, limit_s=900)
