"""Compiles the modules of `workloads.native.compiled` with Cython and a C compiler.

`python -m workloads.native.compiling` builds what is missing. What another checkout, or the build of a wheel, has made
from the same sources is copied from the user's cache.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from workloads.native.compiled import (
    FLAGS,
    LINKED,
    SHARED,
    SUFFIX,
    compiled_folders,
    compiler,
    deflate,
    digests,
    directives,
    find_compiled,
    obstacle,
    source_of,
)
from workloads.native.places import NativeStatus
from workloads.trusted import distrust

__all__ = ["build"]

_ROOT = Path(__file__).resolve().parents[2]
_C_SOURCES = {"testbed.faults.gate": ("testbed/faults/filter.c",)}
"""C files that a module is linked with"""
_INCLUDES = ("workloads", "workloads/native", "testbed/faults")
_SECONDS = 600
_BROKEN = 70
"""exit code"""


class _Failed(Exception):
    """What a compiler said."""


class _Lacking(Exception):
    """What this machine does not have."""


def build() -> NativeStatus:
    """What is missing, in the first folder that can be written."""
    if os.environ.get("INA_NATIVE") == "0":
        return NativeStatus(False, "switched off by INA_NATIVE=0")
    problem, folders = "no folder to build in", compiled_folders()
    places = {path.parent for path in find_compiled().values()}
    if places and not places <= set(folders):
        return NativeStatus(True, "next to the sources")
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"cannot write {folder}: {error.strerror}"
            continue
        if (distrusted := distrust(folder)) is not None:
            problem = f"others could change what is built in {folder}: {distrusted}"
            continue
        try:
            with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
                made = [pool.submit(_make, module, digest, folder) for module, digest in digests().items()]
                for each in made:
                    each.result()
        except _Lacking as error:
            return NativeStatus(False, str(error))
        except (OSError, _Failed, subprocess.TimeoutExpired) as error:
            return NativeStatus(False, f"cannot be built in {folder}", failed=True, output=str(error)[-3000:])
        return NativeStatus(True, str(folder))
    return NativeStatus(False, problem, failed=True)


def _make(module: str, digest: str, folder: Path) -> None:
    """Make the module in this folder, and in the others for later builds."""
    path = folder / f"{module}-{digest}{SUFFIX}"
    others = [other / path.name for other in compiled_folders() if other != folder]
    if not path.exists():
        made = next((other for other in others if other.exists() and _is_trusted(other)), None)
        if made is None:
            _compile(module, path)
        else:
            _put(made, path)
    for other in others:
        with contextlib.suppress(OSError):
            other.parent.mkdir(parents=True, exist_ok=True)
            if not other.exists() and distrust(other.parent) is None:
                _put(path, other)


def _is_trusted(path: Path) -> bool:
    return distrust(path) is None and distrust(path.parent) is None


def _put(source: Path, target: Path) -> None:
    """A copy, there at once or not at all."""
    scratch = target.with_name(f".{target.name}-{os.getpid()}")
    shutil.copyfile(source, scratch)
    os.chmod(scratch, 0o755)
    os.replace(scratch, target)


def _compile(module: str, path: Path) -> None:
    if lacking := obstacle():
        raise _Lacking(lacking)
    folder, name = path.with_name(f".{path.name}-{os.getpid()}.d"), module.rpartition(".")[2]
    translated, made = folder / f"{name}.c", folder / path.name
    folder.mkdir(exist_ok=True)
    try:
        _run([sys.executable, "-m", "cython", *_translation(module, translated)])
        flags, libraries = deflate()
        own = shlex.split(os.environ.get("INA_NATIVE_FLAGS", ""))
        includes = [f"-I{_ROOT / each}" for each in _INCLUDES] + [f"-I{sysconfig.get_paths()['include']}"]
        sources = [str(translated), *(str(_ROOT / each) for each in _C_SOURCES.get(module, ()))]
        words = compiler() or []
        _run([*words, "-shared", *FLAGS, *flags, *own, *includes, "-o", str(made), *sources, *LINKED, *libraries])
        _put(made, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _translation(module: str, made: Path) -> list[str]:
    """Arguments of Cython, which makes the C file of a module."""
    if module == SHARED:
        return [f"--generate-shared={made}"]
    words = [word for directive in directives() for word in ("-X", directive)]
    return [
        "-3", *words, "--shared", SHARED, "--module-name", module, "-I", str(_ROOT), "-o", str(made),
        str(source_of(module)),
    ]  # fmt: skip


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise _Failed(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")


def main() -> int:
    """0 also where there is no compiler: the interpreted source is a complete system."""
    status = build()
    if status.failed:
        print(f"compiled modules: {status.detail}\n{status.output}".rstrip())
        return _BROKEN
    print(f"compiled modules: {status.detail if status.available else 'Python source, ' + status.detail}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
