"""Modules that are compiled with Cython 3 from their Python source, and how imports find them.

A module here is plain Python, and the reference. Its types stand in a `.pxd` of the same name, by which it is found.
Either all modules are compiled, or none, since they share types. `workloads.native.compiling` compiles them; an import
compiles nothing. The folder is `build/compiled` of a checkout, or that of the user's cache. The name of a file has a
digest of all that it was made from. A wheel has the extension modules next to the sources (`setup.py`).

`INA_NATIVE=0` in the environment selects the interpreted source. `CC` names another compiler. `INA_NATIVE_FLAGS` has
further flags, and `INA_CYTHON` further directives (`boundscheck=True`). Each setting has a build of its own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from workloads.native.places import NativeStatus, cache_folders
from workloads.trusted import distrust, trusts_inside

__all__ = [
    "FLAGS",
    "LINKED",
    "MODULES",
    "SHARED",
    "SUFFIX",
    "compiled_folders",
    "compiled_status",
    "compiler",
    "deflate",
    "digests",
    "directives",
    "find_compiled",
    "install",
    "obstacle",
    "source_of",
]

_ROOT = Path(__file__).resolve().parents[2]
_IN_C = {"workloads.codes.products", "workloads.heap", "workloads.kernels"}
"""modules whose `.pxd` declares C functions: their Python source is the interpreted version, and is not compiled"""


def _found(folder: str) -> Iterator[str]:
    """The modules of a folder, and of those in it, that have a `.pxd`. A guest has only some of the folders."""
    with os.scandir(folder) if os.path.isdir(folder) else nullcontext(()) as entries:
        for entry in entries:
            if entry.name.endswith(".pxd"):
                yield os.path.relpath(entry.path, _ROOT).removesuffix(".pxd").replace(os.sep, ".")
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _found(entry.path)


MODULES = tuple(
    sorted({name for top in ("workloads", "switch_nodes", "testbed") for name in _found(str(_ROOT / top))} - _IN_C)
)
SHARED = "workloads.native.shared_utility"
"""what Cython needs for arrays in memory, once for all of them; it has no source"""
_HEADERS = (
    "workloads/kernels.h", "workloads/native/crc.h", "workloads/native/layout.h", "workloads/native/roce.h",
    "workloads/native/wire_layout.h",
    "testbed/faults/link.h", "testbed/faults/rules.h", "testbed/faults/decide.h", "testbed/faults/filter.c",
    "workloads/heap.h",
)  # fmt: skip
_CIMPORT = re.compile(r"^from ([\w.]+) cimport", re.MULTILINE)
_DIRECTIVES = (
    "language_level=3", "boundscheck=False", "wraparound=False", "initializedcheck=False", "infer_types=True",
    "annotation_typing=False", "auto_pickle=False", "binding=False", "emit_code_comments=False",
)  # fmt: skip
FLAGS = ("-O1", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-fPIC", "-ffp-contract=off", "-fno-strict-overflow",
          "-fno-math-errno", "-Wno-unused-function")  # fmt: skip
LINKED = ("-lz",)
_DEFLATE_HEADERS = (Path("/usr/include/libdeflate.h"), Path("/usr/local/include/libdeflate.h"))
SUFFIX = EXTENSION_SUFFIXES[0]


def source_of(module: str, suffix: str = ".py") -> Path:
    return _ROOT / (module.replace(".", "/") + suffix)


def deflate() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(flags, libraries) of libdeflate, where it is there."""
    found = any(path.exists() for path in _DEFLATE_HEADERS)
    return (("-DINA_LIBDEFLATE",), ("-ldeflate",)) if found else ((), ())


def directives() -> tuple[str, ...]:
    return (*_DIRECTIVES, *shlex.split(os.environ.get("INA_CYTHON", "")))


def digests() -> dict[str, str]:
    """Digest of everything that decides the output, by module; the shared module is among them."""
    flags = (*FLAGS, *shlex.split(os.environ.get("INA_NATIVE_FLAGS", "")), *deflate()[0])
    shared = hashlib.sha256(repr((flags, directives(), LINKED, sys.version, os.environ.get("CC"))).encode())
    found = {SHARED: shared.hexdigest()[:16]}
    for name in _HEADERS:
        shared.update((_ROOT / name).read_bytes())
    known: dict[str, _Types] = {}
    for module in MODULES:
        own = shared.copy()
        own.update(module.rpartition(".")[2].encode() + b".py" + _read(module, ".py"))
        for name in sorted(_reached(module, known), key=lambda each: each.split(".")):
            own.update(known[name].text)
        found[module] = own.hexdigest()[:16]
    return found


class _Types(NamedTuple):
    """The `.pxd` of a module."""

    text: bytes
    """name of the file, and what is in it"""
    cimported: tuple[str, ...]
    """modules that it takes types from"""


def _reached(module: str, known: dict[str, _Types]) -> set[str]:
    """The module and those whose types it takes, directly or not; each `.pxd` is read once, into `known`."""
    found, ahead = set[str](), [module]
    while ahead:
        name = ahead.pop()
        if name in found or (name not in known and not os.path.exists(_text_of(name, ".pxd"))):
            continue
        found.add(name)
        if name not in known:
            text = _read(name, ".pxd")
            file = name.rpartition(".")[2] + ".pxd"
            known[name] = _Types(file.encode() + text, tuple(_CIMPORT.findall(text.decode())))
        ahead += known[name].cimported
    return found


def _read(module: str, suffix: str) -> bytes:
    with open(_text_of(module, suffix), "rb", buffering=0) as file:
        return file.read()


def _text_of(module: str, suffix: str) -> str:
    """As `source_of`: each command asks for hundreds."""
    return f"{_ROOT}/{module.replace('.', '/')}{suffix}"


def compiled_folders() -> list[Path]:
    """Where builds may lie."""
    return [folder.with_name("compiled") for folder in cache_folders()]


def find_compiled() -> dict[str, Path]:
    """The extension of each module; empty where not all of them are there."""
    adjacent = {module: source_of(module, SUFFIX) for module in (*MODULES, SHARED)}
    if all(path.exists() for path in adjacent.values()):
        return adjacent
    try:
        made = digests()
    except OSError:
        return {}
    for folder in compiled_folders():
        found = {module: folder / f"{module}-{digest}{SUFFIX}" for module, digest in made.items()}
        if all(path.exists() for path in found.values()) and distrust(folder) is None:
            return found if all(map(trusts_inside, found.values())) else {}
    return {}


class _Finder:
    """An entry of `sys.meta_path`: it finds the modules of `MODULES`, compiled if possible, else as source."""

    def __init__(self, found: dict[str, Path]) -> None:
        self.found = found

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in MODULES and name != SHARED:
            return None
        extension = self.found.get(name)
        if extension is None:
            source = str(source_of(name))
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
    """Status of the modules that this process imports."""
    if os.environ.get("INA_NATIVE") == "0":
        return NativeStatus(False, "switched off by INA_NATIVE=0")
    found = next((finder.found for finder in sys.meta_path if isinstance(finder, _Finder)), {})
    if not found:
        return NativeStatus(False, obstacle() or "compiled modules are not built; python -m workloads.native.compiling")
    return NativeStatus(True, str(next(iter(found.values())).parent))


def compiler() -> list[str] | None:
    """That of `CC`, else the first one in PATH."""
    wanted = os.environ.get("CC")
    candidates = [shlex.split(wanted)] if wanted else [[name] for name in ("gcc", "cc", "clang")]
    return next((words for words in candidates if shutil.which(words[0])), None)


def obstacle() -> str:
    """Why this machine cannot build; empty: it can."""
    if compiler() is None:
        return "no C compiler in PATH; apt-get install gcc libc6-dev zlib1g-dev"
    if importlib.util.find_spec("Cython") is None:
        return "Cython is not installed; pip install cython"
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        return "no Python.h; apt-get install python3-dev"
    return ""
