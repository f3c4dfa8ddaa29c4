"""Compiles the C core on first use and loads it with ctypes.

To add a fast path in C:

1. Write `yours.c` next to the Python reference that it speeds up. `#include "roce.h"` gives offsets, loads, iCRC,
   parsing. Use functions with C linkage, pointers and integers only. A struct that crosses the border needs a
   `ctypes.Structure` with the same fields. On loading, `layout.py` compares that with a table of the struct's fields
   (`layout.h`).
2. Add one line to `LIBRARIES` (so that set-up builds it ahead of time).
3. Next to the reference, call `lib = load_library("yours")`. If that is None, take the Python path. `native_status()`
   says why, and a run reports it (`workloads.native.account`). Else set `lib.function.argtypes` and `restype` once.
   Pass NumPy arrays as
  `array.ctypes.data` (an int) for `c_void_p`. Look such addresses up once, not per call, since the lookup costs more
  than the call. The GIL is released during a call.
4. A differential test runs both paths on the same input.

A wheel brings builds of its own (`ship`), for machines without a compiler.

`INA_NATIVE=0` in the environment forces the Python reference everywhere; `CC` names another compiler. The words of
`INA_NATIVE_FLAGS` are further flags of every compilation, for instance those of sanitizers. `python -m
workloads.native.build` builds everything in `LIBRARIES`, and fails where a compiler is there and fails.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from workloads.native.places import NativeStatus, cache_folders
from workloads.trusted import distrust

__all__ = ["LIBRARIES", "library_status", "load_library", "native_status", "ship"]

_ROOT = Path(__file__).resolve().parents[2]
_HEADERS = Path(__file__).resolve().parent
_SHIPPED = _HEADERS / "shipped"
"""builds that came with a wheel"""

LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "packet_io": ("workloads/native/packet_io.c",),
    "rc_fast": ("workloads/rc/fast.c", "workloads/rc/irn.c"),
    "switch_programs": (
        "switch_nodes/forwarding/forward.c",
        "switch_nodes/steering/steer.c",
        "switch_nodes/netreduce/absorb.c",
        "switch_nodes/netreduce/mirrored.c",
    ),
    "fault_filter": ("testbed/faults/filter.c",),
    "simulator": (
        "testbed/worlds/simulated/native/agenda.c",
        "testbed/worlds/simulated/native/wire.c",
        "testbed/worlds/simulated/native/core.c",
        "workloads/rc/native_endpoint.c",
        "workloads/collectives/ring.c",
        "workloads/rc/fast.c",
        "workloads/rc/irn.c",
        "switch_nodes/forwarding/forward.c",
        "switch_nodes/netreduce/absorb.c",
        "testbed/faults/filter.c",
    ),
}
"""Library name -> C files, relative to the folder that holds the packages. Data only: nothing is imported from
above."""

_FLAGS = (
    "-std=gnu11",
    "-O3",
    "-mtune=generic",
    "-fPIC",
    "-shared",
    "-fvisibility=default",
    "-fno-math-errno",
    "-ffp-contract=off",  # a fused multiply-add rounds once where NumPy rounds twice: sums would differ in the last bit
    "-Wall",
    "-Wextra",
)
_LIBRARIES = ("-lz",)
_DEFLATE_HEADERS = (Path("/usr/include/libdeflate.h"), Path("/usr/local/include/libdeflate.h"))
"""libdeflate makes a CRC-32 much faster than zlib; the C core does without it where it is not there"""
_DEFLATE = ("-DINA_LIBDEFLATE", "-ldeflate")
"""flag, library"""
_COMPILE_SECONDS = 120
_PR_SET_PDEATHSIG = 1
_OUTPUT_LINES = 30
_LACKS_SOMETHING, _BROKEN = 3, 70
"""exit codes"""
_ZLIB_HINT = "apt-get install zlib1g-dev"


_loaded: dict[tuple[str, tuple[str, ...] | None, tuple[str, ...]], tuple[ctypes.CDLL | None, NativeStatus]] = {}
_status: dict[str, NativeStatus] = {}


def load_library(name: str, sources: Sequence[Path] | None = None, *, flags: Sequence[str] = ()) -> ctypes.CDLL | None:
    """The library `name`, compiled from `sources` (default: its entry in `LIBRARIES`) unless an up-to-date build
    exists.

    None when the C core is switched off, there is no compiler or zlib header, or the compilation fails. The reason is
    then in `native_status()`. Two processes may build the same library at once.
    """
    if os.environ.get("INA_NATIVE") == "0":
        _status[name] = NativeStatus(False, "switched off by INA_NATIVE=0")
        return None
    flags = (*flags, *shlex.split(os.environ.get("INA_NATIVE_FLAGS", "")))
    key = (name, None if sources is None else tuple(map(str, sources)), flags)
    if key not in _loaded:
        paths = [_ROOT / path for path in LIBRARIES[name]] if sources is None else [Path(path) for path in sources]
        try:
            path, library = _build(name, paths, flags)
        except _Unavailable as error:
            _loaded[key] = None, NativeStatus(False, str(error), error.failed, error.output)
        else:
            _loaded[key] = library, NativeStatus(True, str(path))
    found, _status[name] = _loaded[key]
    return found


def library_status(name: str) -> NativeStatus:
    """Status of a library of `LIBRARIES`, which is built if need be."""
    load_library(name)
    return _status[name]


def native_status() -> dict[str, NativeStatus]:
    """Every library of `LIBRARIES` (each is built if need be) and every other one that was asked for, by name."""
    for name, sources in LIBRARIES.items():
        if all((_ROOT / path).exists() for path in sources):
            load_library(name)
    return dict(_status)


class _Unavailable(Exception):
    def __init__(self, reason: str, *, failed: bool = False, output: str = "") -> None:
        super().__init__(reason)
        self.failed, self.output = failed, output


def _build(name: str, sources: Sequence[Path], flags: tuple[str, ...]) -> tuple[Path, ctypes.CDLL]:
    file = f"{name}-{_digest(name, sources, flags, _further(), os.environ.get('CC'))}.so"
    folders = tuple(cache_folders())
    for folder in folders:
        if (library := _load(folder / file)) is not None:
            return folder / file, library
    shipped = _SHIPPED / f"{name}-{_digest(name, sources, flags)}.so"
    try:
        compiler = _compiler()
    except _Unavailable:
        if (library := _load(shipped)) is None:
            raise
        return shipped, library
    problem, failed = "no folder to build in", False
    for folder in folders:
        if (distrusted := distrust(folder)) is not None:
            problem = f"others could change what is built in {folder}: {distrusted}"
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle, scratch = tempfile.mkstemp(prefix=f".{name}-", suffix=".so", dir=folder)
        except OSError as error:
            problem = f"cannot write {folder}: {error.strerror}"
            continue
        os.close(handle)
        try:
            _compile(compiler, sources, flags, scratch, _further())
            os.chmod(scratch, 0o755)
            path = folder / file
            os.replace(scratch, path)
            failed = True
            return path, ctypes.CDLL(str(path))
        except OSError as error:
            problem = str(error)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(scratch)
    raise _Unavailable(problem, failed=failed)


def _load(path: Path) -> ctypes.CDLL | None:
    """None: there is none, others could change it, or it does not load (cut short by a full disk, say)."""
    if path.exists() and distrust(path) is None and distrust(path.parent) is None:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(str(path))
    return None


def ship(folder: Path) -> None:
    """Build all libraries for machines without a compiler, with zlib alone. Without a compiler here: none."""
    with contextlib.suppress(_Unavailable):
        compiler = _compiler()
        folder.mkdir(parents=True, exist_ok=True)
        for name, files in LIBRARIES.items():
            sources = [_ROOT / path for path in files]
            _compile(compiler, sources, (), str(folder / f"{name}-{_digest(name, sources, ())}.so"), ())


def _digest(
    name: str,
    sources: Sequence[Path],
    flags: tuple[str, ...],
    further: tuple[str, ...] = (),
    compiler: str | None = None,
) -> str:
    """Digest of everything that decides the output: text of sources and headers, flags, compiler, machine."""
    state = hashlib.sha256(repr((name, _FLAGS, flags, _LIBRARIES, further, compiler, platform.machine())).encode())
    folders = {_HEADERS, *(path.resolve().parent for path in sources)}
    headers = sorted(header for folder in folders for header in folder.glob("*.h"))
    for path in (*sources, *headers):
        try:
            text = path.read_bytes()
        except OSError as error:
            raise _Unavailable(f"cannot read {path}: {error.strerror}") from None
        state.update(f"{path.name} {len(text)}\n".encode() + text)
    return state.hexdigest()[:16]


def _further() -> tuple[str, ...]:
    """What is taken where it is there; its absence is no failure."""
    return _DEFLATE if any(path.exists() for path in _DEFLATE_HEADERS) else ()


def _compiler() -> list[str]:
    wanted = os.environ.get("CC")
    if wanted:
        return shlex.split(wanted)
    for candidate in ("gcc", "cc", "clang"):
        if shutil.which(candidate):
            return [candidate]
    raise _Unavailable("no C compiler in PATH; apt-get install gcc libc6-dev zlib1g-dev")


_GUARD = """trap 'kill -KILL 0' HUP INT TERM
"$@" &
wait $!"""
"""A shell that leads a process group: a compiler starts others, which must end with it."""


def _compile(
    compiler: Sequence[str], sources: Sequence[Path], flags: tuple[str, ...], output: str, further: tuple[str, ...]
) -> None:
    define, libraries = further[:1], (*_LIBRARIES, *further[1:])
    command = [*compiler, *_FLAGS, *define, *flags, f"-I{_HEADERS}", "-o", output, *map(str, sources), *libraries]
    parent = os.getpid()
    try:
        libc = ctypes.CDLL(None)
        with subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"LC_ALL": "C"},
            start_new_session=True,
            preexec_fn=lambda: _heed_end_of(parent, libc),
        ) as process:
            try:
                said = process.communicate(timeout=_COMPILE_SECONDS)[1]
            except BaseException:
                # An interruption, too: nothing of it outlives us.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _Unavailable(f"cannot run {compiler[0]}: {error}", failed=True) from None
    if process.returncode:
        lines = [line for line in said.splitlines() if "error:" in line] or said.splitlines() or ["failed"]
        hint = f"; {_ZLIB_HINT}" if "zlib.h" in said or "-lz" in said else ""
        tail = "\n".join(said.splitlines()[-_OUTPUT_LINES:])
        raise _Unavailable(f"{compiler[0]}: {lines[0].strip()}{hint}", failed=True, output=tail)


def _heed_end_of(parent: int, libc: ctypes.CDLL) -> None:
    """In the child: let the kernel signal its guard when the thread that forked it ends, for whatever reason (prctl(2);
    Linux only)."""
    prctl = getattr(libc, "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def main() -> int:
    """Builds all. 0 also where there is no compiler, or the C core is switched off: the Python reference is a complete
    system. Where a compiler is there and fails: 3 when something that it needs is missing, else 70."""
    code = 0
    for name, status in native_status().items():
        if status.failed:
            print(f"{name}: cannot be built: {status.detail}\n{status.output}".rstrip())
            code = max(code, _LACKS_SOMETHING if status.detail.endswith(_ZLIB_HINT) else _BROKEN)
        else:
            print(f"{name}: {status.detail if status.available else 'Python reference, ' + status.detail}")
    return code


if __name__ == "__main__":
    sys.exit(main())
