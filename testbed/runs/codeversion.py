"""Which code ran, so that what one version of it found is not taken for what another would find."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from switch_nodes.program_files import program_path
from testbed.runs.importedfiles import imported_files, module_files
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.own_code import is_own_code
from workloads.native.build import LIBRARIES, native_status
from workloads.native.compiled import MODULES, compiled_status
from workloads.plugins import plugin_of

__all__ = ["code_version", "model_version", "program_version", "versions_of"]

_TOP = Path(__file__).parents[2]
_PACKAGES = ("switch_nodes", "testbed", "topologies", "workloads")
_SOURCES = frozenset((".py", ".pxd", ".c", ".h"))
_NATIVE = {"workloads.native.build", *MODULES}
"""who imports it runs C"""
_INSTALLED = frozenset(("site-packages", "dist-packages"))
_DIGITS = 12


@cache
def code_version(root: Path = _TOP) -> str:
    """Twelve hex digits of the SHA-256 over the names and contents of our source files below `root`, as they were when
    this was first asked."""
    return _digest(root, _sources(root, _SOURCES))


def program_version(program: str) -> str:
    """As `code_version`. For a `program` of the user's own, `path.py:Class`, it also covers its file and the files that
    it imports from outside of our packages and of what is installed; for one of a package, the files of that. Where a
    part of the C core does not run, another one than where it does. Raises ScenarioError when there is no such
    file."""
    status = native_status()
    more = [f"{name} runs as Python" for name in LIBRARIES if name in status and not status[name].available]
    more += [] if compiled_status().available else ["modules run as Python"]
    plugin = plugin_of(program)
    if plugin is not None:
        more += [plugin.package, *(_digest(file.parent, [file]) for file in plugin.sources())]
    elif ":" in program:
        path = program_path(program).resolve()
        more.append(_digest(path.parent, [path], named=False))
        more += [_digest(file.parent, [file]) for file in imported_files(path, _is_the_users)]
    return hashlib.sha256("\0".join((code_version(), *more)).encode()).hexdigest()[:_DIGITS] if more else code_version()


def versions_of(scenario: Scenario) -> dict[str, str]:
    """For the environment of a run: the version of our sources, and of the user's own files that ran."""
    named = dict.fromkeys(name for name in (scenario.switch.program, scenario.job.protocol) if is_own_code(name))
    own = {"own_code": ", ".join(map(_own_version, named))} if named else {}
    return {"source": code_version(), **own}


def _own_version(name: str) -> str:
    plugin = plugin_of(name)
    package = f" ({plugin.package})" if plugin is not None else ""
    return f"{name} {program_version(name)}{package}"


@cache
def model_version(*modules: str, also: tuple[Path, ...] = ()) -> str:
    """As `code_version`, of these modules of ours and of all of ours that they import, in functions too. It covers all
    C files where they run C, and the files `also` without what they import."""
    found = module_files(modules, lambda name, file: name.partition(".")[0] in _PACKAGES)
    native = _sources(_TOP, _SOURCES - {".py"}) if found.keys() & _NATIVE else ()
    return _digest(_TOP, (*found.values(), *native, *also))


def _is_the_users(name: str, file: Path) -> bool:
    top = name.partition(".")[0]
    return top not in _PACKAGES and top not in sys.stdlib_module_names and not _INSTALLED & set(file.parts)


def _sources(root: Path, suffixes: frozenset[str]) -> list[str]:
    """Paths as text: each run looks at all files, and objects take longer than the files."""
    tops = [str(root / package) for package in _PACKAGES]
    return [
        f"{folder}/{name}"
        for top in tops
        for folder, _, names in os.walk(top)
        for name in names
        if os.path.splitext(name)[1] in suffixes
    ]


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def _digest(root: Path, files: Iterable[Path | str], *, named: bool = True) -> str:
    digest, behind = hashlib.sha256(), len(str(root)) + 1
    for path in sorted(map(str, files)):
        content = _content(path)
        name = path[behind:] if named else ""
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:_DIGITS]
