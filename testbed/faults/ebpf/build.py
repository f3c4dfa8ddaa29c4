"""Compiles eBPF sources with clang and keeps the objects."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from testbed.kernel.scratch import remove_dead_scratch, scratch
from workloads.errors import HostCapabilityError, InternalError
from workloads.trusted import distrust

__all__ = ["SOURCE", "build_object"]

SOURCE = Path(__file__).with_name("fault.c")

_ROOT = Path(__file__).resolve().parents[3]
_FAULTS = Path(__file__).resolve().parents[1]
_LAYOUT = _FAULTS.parents[1] / "workloads" / "native" / "wire_layout.h"
"""which those headers include"""
_FLAGS = ("-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall")
_SECONDS = 60
_PACKAGES = "apt-get install clang libbpf-dev linux-libc-dev"


def build_object(source: Path = SOURCE) -> Path:
    """The object file of `source`, compiled unless an up-to-date one is there. Raises HostCapabilityError when there is
    no compiler, no header or no folder to write to, InternalError when the source does not compile."""
    name = f"{source.stem}-{_digest(source)}.o"
    folders = tuple(_folders())
    for folder in folders:
        if (folder / name).exists() and distrust(folder) is None and distrust(folder / name) is None:
            return folder / name
    clang = shutil.which("clang")
    if clang is None:
        raise HostCapabilityError("clang, which compiles the eBPF program of the faults", _PACKAGES)
    for folder in folders:
        if distrust(folder) is not None:
            continue
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            remove_dead_scratch([folder])
            with scratch(folder) as here:
                made = here / name
                _compile(clang, source, made)
                made.replace(folder / name)
            return folder / name
    raise HostCapabilityError(
        "a folder for compiled eBPF programs", f"make one of {', '.join(map(str, folders))} writable"
    )


def _compile(clang: str, source: Path, made: Path) -> None:
    # asm/types.h lies in the folder of the machine's architecture, where clang for bpf does not look
    includes = [f"-I{folder}" for folder in sorted(Path("/usr/include").glob("*-linux-gnu*"))]
    command = [clang, *_FLAGS, f"-I{_FAULTS}", *includes, "-c", str(source), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode == 0:
        return
    errors = [line.strip() for line in done.stderr.splitlines() if "error:" in line] or [done.stderr.strip()]
    if "file not found" in errors[0]:
        raise HostCapabilityError(f"a header of the eBPF program ({errors[0]})", _PACKAGES)
    raise InternalError(f"clang refuses {source.name}: {errors[0]}")


def _digest(source: Path) -> str:
    state = hashlib.sha256(repr(_FLAGS).encode())
    for path in (source, *sorted(_FAULTS.glob("*.h")), _LAYOUT):
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


def _folders() -> Iterator[Path]:
    """Inside a checkout, else in the user's cache."""
    if (_ROOT / "setup.cfg").exists():
        yield _ROOT / "build" / "ebpf"
    cache = os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):
        yield (Path(cache) if cache else Path.home() / ".cache") / "ina-testbed" / "ebpf"
