"""Checks of programs, libraries and resources of this machine."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from testbed.doctor.model import ProbeFailed
from testbed.kernel.load import processors
from workloads.native.account import COMPILED
from workloads.native.build import native_status
from workloads.native.compiled import MODULES, compiled_status

__all__ = [
    "check_clang",
    "check_compiler",
    "check_cpus",
    "check_iperf3",
    "check_mininet",
    "check_native",
    "check_openflow",
    "check_ovs",
    "check_qemu",
    "check_rdma_device",
]

_OTHER_PYTHON = "/usr/bin/python3"
_QEMU_AT_LEAST = (7, 2)


def _which(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise ProbeFailed(f"no program {program} in PATH")
    return path


def _first_line(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=2)
    if result.returncode:
        raise ProbeFailed((result.stderr or result.stdout).strip().partition("\n")[0] or f"exit {result.returncode}")
    return result.stdout.strip().partition("\n")[0]


def check_mininet() -> str:
    if importlib.util.find_spec("mininet") is None:
        raise ProbeFailed(f"{sys.executable} cannot import it{_who_can()}")
    _which("mnexec")
    _which("bash")
    from testbed.kernel.mininet_api import MININET_VERSION

    return f"version {MININET_VERSION}"


def _who_can() -> str:
    if not os.path.exists(_OTHER_PYTHON) or os.path.samefile(sys.executable, _OTHER_PYTHON):
        return ""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('mininet') is None)"
    result = subprocess.run([_OTHER_PYTHON, "-c", code], capture_output=True, timeout=2)
    return f"; {_OTHER_PYTHON} can" if result.returncode == 0 else ""


def check_ovs() -> str:
    from testbed.steering.openvswitch import missing_programs

    missing = missing_programs()
    if missing:
        raise ProbeFailed(f"not found: {', '.join(missing)}")
    if not os.path.exists("/dev/net/tun"):
        raise ProbeFailed("there is no /dev/net/tun, which its user-space datapath needs")
    return f"{_first_line('ovs-vsctl', '--version')}; runs start daemons of their own, in user space"


def check_openflow() -> str:
    from testbed.steering.compat import library_name

    name = library_name()
    if name is None:
        raise ProbeFailed("neither os_ken nor ryu is installed")
    return name


def check_qemu() -> str:
    line = _first_line(_which("qemu-system-x86_64"), "--version")
    found = re.search(r"version (\d+)\.(\d+)", line)
    if found is None or (int(found[1]), int(found[2])) < _QEMU_AT_LEAST:
        raise ProbeFailed(f"{line}, need {'.'.join(map(str, _QEMU_AT_LEAST))}")
    if importlib.util.find_spec("pyverbs") is None:
        raise ProbeFailed(f"{line}, but no pyverbs (rdma-core)")
    return line


def check_rdma_device() -> str:
    try:
        devices = os.listdir("/sys/class/infiniband")
    except FileNotFoundError:
        devices = []
    if not devices:
        raise ProbeFailed("/sys/class/infiniband is empty or absent")
    return ", ".join(sorted(devices))


def check_compiler() -> str:
    path = shutil.which("cc") or shutil.which("gcc")
    if path is None:
        raise ProbeFailed("no program cc or gcc in PATH")
    return path


def check_native() -> str:
    """Builds what is not built yet: a few seconds, once."""
    status = native_status()
    if lacking := {name: found.detail for name, found in status.items() if not found.available}:
        reasons = "; ".join(dict.fromkeys(lacking.values()))
        raise ProbeFailed(f"{', '.join(lacking)}: {reasons}")
    if not (modules := compiled_status()).available:
        raise ProbeFailed(f"{COMPILED}: {modules.detail}")
    return f"{len(status)} libraries and {len(MODULES)} modules are built and load"


def check_clang() -> str:
    return _which("clang")


def check_iperf3() -> str:
    return _which("iperf3")


def check_cpus() -> str:
    cores = processors()
    quota = _quota()
    usable = cores if quota is None else min(cores, quota)
    detail = f"{cores} usable" + ("" if quota is None else f", limited to {quota:g} by cgroup")
    if usable < 2:
        raise ProbeFailed(detail)
    return detail


def _quota() -> float | None:
    """Cores that the cgroup allows; None: no limit, or none that we can read."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        pass
    try:
        folder = Path("/sys/fs/cgroup/cpu")
        limit_us = int((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        return None if limit_us < 0 else limit_us / int((folder / "cpu.cfs_period_us").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
