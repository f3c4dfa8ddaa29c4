"""Compiles the modules of `MODULES` with Cython 3 from their Python source, and lets imports find what was made.

A module here is plain Python, and the reference; its types stand in a `.pxd` of the same name. What is compiled is a
unit: all modules, or none, since they share types. The folder is `build/compiled` of a checkout, else that of the
user's cache; a module is made again when its source, a `.pxd` that it needs, a C header or the flags changed. A wheel
has the extension modules beside the sources (`setup.py`).

`INA_NATIVE=0` in the environment selects the interpreted source, `CC` names another compiler, `INA_NATIVE_FLAGS` has
further flags, and `INA_CYTHON` further directives (`boundscheck=True`), each in a build of its own.
`python -m workloads.native.compiled` builds what is missing; nothing is built by an import.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

from workloads.native.build import NativeStatus, cache_folders
from workloads.trusted import distrust

__all__ = [
    "C_SOURCES",
    "FLAGS",
    "INCLUDES",
    "LINKED",
    "MODULES",
    "SHARED",
    "compiled_status",
    "deflate",
    "find_compiled",
    "install",
    "translation",
]

_ROOT = Path(__file__).resolve().parents[2]
MODULES = (
    "workloads.quick",
    "workloads.wire.inspected",
    "workloads.datagrams.quantisation",
    "workloads.datagrams.retransmission",
    "workloads.datagrams.slot_window",
    "workloads.datagrams.quick_worker",
    "workloads.switchml.framing",
    "workloads.switchml.worker",
    "switch_nodes.occupancy",
    "switch_nodes.switchml.pool",
    "switch_nodes.switchml.framing",
    "switch_nodes.switchml.service",
    "testbed.faults.gate",
    "testbed.worlds.simulated.agenda",
    "testbed.worlds.simulated.wire",
    "testbed.worlds.simulated.node",
    "testbed.worlds.simulated.nodes",
)
"""Data only: nothing is imported from above."""
SHARED = "workloads.native.shared_utility"
"""what Cython needs for arrays in memory, once for all of them; it has no source"""
C_SOURCES = {"testbed.faults.gate": ("testbed/faults/filter.c",)}
"""C files that a module is linked with"""
INCLUDES = ("workloads", "workloads/native", "testbed/faults")
_HEADERS = (
    "workloads/kernels.h", "workloads/native/crc.h", "workloads/native/layout.h", "workloads/native/roce.h",
    "testbed/faults/link.h", "testbed/faults/rules.h", "testbed/faults/decide.h", "testbed/faults/filter.c",
    "workloads/heap.h",
)  # fmt: skip
_DIRECTIVES = (
    "language_level=3", "boundscheck=False", "wraparound=False", "initializedcheck=False", "infer_types=True",
    "annotation_typing=False", "auto_pickle=False", "binding=False", "emit_code_comments=False",
)  # fmt: skip
FLAGS = ("-O1", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-fPIC", "-ffp-contract=off", "-fno-strict-overflow",
          "-fno-math-errno", "-Wno-unused-function")  # fmt: skip
LINKED = ("-lz",)
_DEFLATE_HEADERS = (Path("/usr/include/libdeflate.h"), Path("/usr/local/include/libdeflate.h"))
_SUFFIX = EXTENSION_SUFFIXES[0]
_SECONDS = 600
_LACKS_SOMETHING, _BROKEN = 3, 70


def _source(module: str, suffix: str = ".py") -> Path:
    return _ROOT / (module.replace(".", "/") + suffix)


def deflate() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(flags, libraries) of libdeflate, where it is there."""
    found = any(path.exists() for path in _DEFLATE_HEADERS)
    return (("-DINA_LIBDEFLATE",), ("-ldeflate",)) if found else ((), ())


def _directives() -> tuple[str, ...]:
    return (*_DIRECTIVES, *shlex.split(os.environ.get("INA_CYTHON", "")))


def _digests() -> dict[str, str]:
    """By module, the shared one among them: of everything that decides what comes out."""
    flags = (*FLAGS, *shlex.split(os.environ.get("INA_NATIVE_FLAGS", "")), *deflate()[0])
    shared = hashlib.sha256(repr((flags, _directives(), LINKED, sys.version, os.environ.get("CC"))).encode())
    texts: dict[Path, bytes] = {}
    found = {SHARED: shared.hexdigest()[:16]}
    for name in _HEADERS:
        shared.update((_ROOT / name).read_bytes())
    for module in MODULES:
        own = shared.copy()
        for path in (_source(module), *sorted(_types(module, texts))):
            own.update(path.name.encode() + (texts.get(path) or path.read_bytes()))
        found[module] = own.hexdigest()[:16]
    return found


def _types(module: str, texts: dict[Path, bytes]) -> set[Path]:
    """The `.pxd` of a module and those that it cimports; `texts` are read once."""
    found, open_paths = set[Path](), [_source(module, ".pxd")]
    while open_paths:
        path = open_paths.pop()
        if path in found or not path.exists():
            continue
        found.add(path)
        text = texts.setdefault(path, path.read_bytes())
        open_paths += [
            _source(name, ".pxd") for name in re.findall(r"^from ([\w.]+) cimport", text.decode(), re.MULTILINE)
        ]
    return found


def _folders() -> list[Path]:
    return [folder.with_name("compiled") for folder in cache_folders()]


def find_compiled() -> dict[str, Path]:
    """The extension of each module; empty where not all of them are there."""
    beside = {module: _source(module, _SUFFIX) for module in (*MODULES, SHARED)}
    if all(path.exists() for path in beside.values()):
        return beside
    try:
        digests = _digests()
    except OSError:
        return {}
    for folder in _folders():
        found = {module: folder / f"{module}-{digest}{_SUFFIX}" for module, digest in digests.items()}
        if all(path.exists() for path in found.values()) and distrust(folder) is None:
            return found if all(distrust(path) is None for path in found.values()) else {}
    return {}


class _Finder:
    """Of `sys.meta_path`: the modules of `MODULES`, compiled where they are, else as source."""

    def __init__(self, found: dict[str, Path]) -> None:
        self.found = found

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in MODULES and name != SHARED:
            return None
        extension = self.found.get(name)
        if extension is None:
            source = str(_source(name))
            return importlib.util.spec_from_file_location(name, source, loader=SourceFileLoader(name, source))
        loader = ExtensionFileLoader(name, str(extension))
        return importlib.util.spec_from_file_location(name, str(extension), loader=loader)


def install() -> None:
    """Let imports find compiled modules from now on; `INA_NATIVE=0`: their sources."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    off = os.environ.get("INA_NATIVE") == "0"
    sys.meta_path.insert(0, _Finder({} if off else find_compiled()))


def compiled_status() -> NativeStatus:
    """Of what this process imports."""
    if os.environ.get("INA_NATIVE") == "0":
        return NativeStatus(False, "switched off by INA_NATIVE=0")
    found = next((finder.found for finder in sys.meta_path if isinstance(finder, _Finder)), {})
    if not found:
        return NativeStatus(False, "not built; python -m workloads.native.compiled builds it where a C compiler is")
    return NativeStatus(True, str(next(iter(found.values())).parent))


class _Failed(Exception):
    """What a compiler said."""


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise _Failed(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")


def translation(module: str, made: Path) -> list[str]:
    """Arguments of Cython, which makes the C file of a module."""
    if module == SHARED:
        return [f"--generate-shared={made}"]
    directives = [word for directive in _directives() for word in ("-X", directive)]
    return [
        "-3", *directives, "--shared", SHARED, "--module-name", module, "-I", str(_ROOT), "-o", str(made),
        str(_source(module)),
    ]  # fmt: skip


def _make(module: str, digest: str, folder: Path, compiler: Sequence[str]) -> None:
    path = folder / f"{module}-{digest}{_SUFFIX}"
    if path.exists():
        return
    scratch = folder / f".{module}-{digest}-{os.getpid()}{_SUFFIX}"
    made = folder / f"{module.rpartition('.')[2]}.{digest}" / f"{module.rpartition('.')[2]}.c"
    made.parent.mkdir(exist_ok=True)
    _run([sys.executable, "-m", "cython", *translation(module, made)])
    flags, libraries = deflate()
    own = shlex.split(os.environ.get("INA_NATIVE_FLAGS", ""))
    includes = [f"-I{_ROOT / name}" for name in INCLUDES] + [f"-I{sysconfig.get_paths()['include']}"]
    sources = [str(made), *(str(_ROOT / name) for name in C_SOURCES.get(module, ()))]
    _run([*compiler, "-shared", *FLAGS, *flags, *own, *includes, "-o", str(scratch), *sources, *LINKED, *libraries])
    os.chmod(scratch, 0o755)
    os.replace(scratch, path)
    shutil.rmtree(made.parent)


def build() -> NativeStatus:
    """What is missing, in the first folder that can be written."""
    if os.environ.get("INA_NATIVE") == "0":
        return NativeStatus(False, "switched off by INA_NATIVE=0")
    if find_compiled():
        return NativeStatus(True, str(next(iter(find_compiled().values())).parent))
    wanted = os.environ.get("CC")
    candidates = [shlex.split(wanted)] if wanted else [[name] for name in ("gcc", "cc", "clang")]
    compiler = next((words for words in candidates if shutil.which(words[0])), None)
    if compiler is None:
        return NativeStatus(False, "no C compiler in PATH; apt-get install gcc libc6-dev zlib1g-dev")
    if importlib.util.find_spec("Cython") is None:
        return NativeStatus(False, "Cython is not installed; pip install cython")
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        return NativeStatus(False, "no Python.h; apt-get install python3-dev")
    problem = "no folder to build in"
    for folder in _folders():
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
                made = [pool.submit(_make, module, digest, folder, compiler) for module, digest in _digests().items()]
                for each in made:
                    each.result()
        except (OSError, _Failed, subprocess.TimeoutExpired) as error:
            return NativeStatus(False, f"cannot be built in {folder}", failed=True, output=str(error)[-3000:])
        return NativeStatus(True, str(folder))
    return NativeStatus(False, problem, failed=True)


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
