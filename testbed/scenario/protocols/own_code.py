"""Code of the user's own: loaded, watched, and blamed for what it does wrong. It is `path.py:NAME`, as a command line
names it, or the name of a part that an installed package adds (`workloads.plugins`)."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from testbed.kernel.overdue import must_answer
from testbed.reading.known import NotKnown
from testbed.reading.problems import closest
from workloads.blame import deepest_place, in_one_line, is_interrupt, is_on_purpose, place_in
from workloads.errors import InternalError, ScenarioError, TestbedError
from workloads.hosts import OWN_MODULES
from workloads.livelock import Livelock
from workloads.ownvalues import Allowed, shown
from workloads.plugins import is_of_plugin, plugin_of

__all__ = [
    "OWN_CODE",
    "blame",
    "guarded",
    "guarded_methods",
    "is_from_own_file",
    "is_in_file",
    "is_own_code",
    "load_own",
    "methods_of",
    "place_of",
    "require",
]

OWN_CODE = re.compile(r"[^:\s]+\.py:[A-Za-z_][A-Za-z0-9_]*\Z")
_GUARDED = "__guarded__"
"""attribute of a guarded function: (`path.py:NAME`, what it is)"""
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def is_in_file(name: str) -> bool:
    """Code from a file that a command line names."""
    return ":" in name


def is_own_code(name: str) -> bool:
    """Whether it is not built in: code from a file, or of an installed package."""
    return is_in_file(name) or plugin_of(name) is not None


def is_from_own_file(module: str) -> bool:
    """Whether a module of this name was loaded from a file of the user's own, or belongs to a package that adds
    parts."""
    return module.startswith(OWN_MODULES) or is_of_plugin(module)


def _owner(name: str) -> Callable[[str], bool]:
    """Of own code: whether a source file is its file, or belongs to its package."""
    plugin = None if is_in_file(name) else plugin_of(name)
    if plugin is not None:
        return plugin.owns
    path = Path(name.rpartition(":")[0])
    return {str(path), str(path.absolute()), str(path.resolve())}.__contains__


def load_own(name: str, what: str, wanted: Callable[[object], bool], *, file: str, key: str | None = None) -> Any:
    """The object that `path.py:NAME` names. `what`: in words, as `protocol`; `wanted`: whether an object of the file is
    one; `file`, `key`: where it is named. Raises ScenarioError for a file that is not there or cannot be loaded, and
    for one that has no such object."""
    path_text, _, wanted_name = name.rpartition(":")
    path = Path(path_text)
    if path.suffix != ".py" or not os.path.isfile(path):
        raise ScenarioError(f"no such {what} file", file=file, key=key, found=repr(path_text), allowed="a .py file")
    module = _module_of(path, what)
    found = getattr(module, wanted_name, None)
    if not wanted(found):
        names = [each for each, value in vars(module).items() if wanted(value) and not each.startswith("_")]
        kind = "" if found is None else f", which is {type(found).__name__}"
        raise ScenarioError(
            f"the {what} file {path_text} has no such {what}", file=file, key=key, found=f"{wanted_name!r}{kind}",
            allowed=", ".join(names) or f"a {what} of that file, which has none", hint=closest(wanted_name, names),
        )  # fmt: skip
    return found


def _module_of(path: Path, what: str) -> Any:
    """The module of a file. A file is loaded once, so that later uses of its name get the same objects."""
    name = f"{OWN_MODULES}{path.stem}_{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:8]}"
    stamp = path.stat().st_mtime_ns
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__stamp__", None) == stamp:
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "it ends in .py"
    assert spec.loader is not None, "it is a file"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look up what annotations mean, and `runs` of configurations is found
    try:
        with must_answer():
            spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if is_interrupt(error):
            raise
        place = deepest_place(error, str(spec.origin))
        line = error.lineno if isinstance(error, SyntaxError) and error.filename == spec.origin else place and place[0]
        raise ScenarioError(
            f"the {what} file cannot be loaded: {in_one_line(error)}", file=str(path), line=line
        ) from error
    vars(module)["__stamp__"] = stamp
    return module


@contextmanager
def blame(name: str, what: str) -> Iterator[None]:
    """What code of the file of `path.py:NAME` raises, SystemExit included, becomes a ScenarioError with file, line and
    function. So does the Livelock of a host. Errors of the testbed that nothing of that file caused stay what they
    are, and so does everything where `name` is built in."""
    if not is_own_code(name):
        yield
        return
    try:
        yield
    except Livelock as error:
        if not error.is_host:
            raise
        raise ScenarioError(f"the {what}'s own code: {error}", file=_shown(name)) from error
    except (TestbedError, NotKnown):
        raise
    except BaseException as error:
        if is_interrupt(error):
            raise
        place = place_in(error, _owner(name))
        if place is None:
            raise
        file, line, function = place
        raise ScenarioError(
            f"the {what}'s own code failed in {function}: {in_one_line(error)}",
            file=_shown(name) if is_in_file(name) else file,
            line=line,
        ) from error


def _shown(name: str) -> str:
    """As a message names the file of own code, or the package."""
    plugin = None if is_in_file(name) else plugin_of(name)
    return str(Path(name.rpartition(":")[0])) if plugin is None else f"{plugin.target} of {plugin.package}"


def guarded(function: F, name: str, what: str) -> F:
    """The function, watched as by `blame`; it must return in time. What it raises is the user's in any case, also where
    it cannot be called with these arguments, and nothing of its file ran."""

    @wraps(function)
    def call(*args: Any, **keys: Any) -> Any:
        with blame(name, what), must_answer():
            try:
                return function(*args, **keys)
            except BaseException as error:
                trace = error.__traceback__
                if is_on_purpose(error, _owner(name)) or isinstance(error, NotKnown) or is_interrupt(error):
                    raise
                if isinstance(error, InternalError) or trace is None or trace.tb_next is None:
                    raise _failure(function, name, f"failed: {in_one_line(error)}") from error
                raise

    vars(call)[_GUARDED] = name, what
    return call  # type: ignore[return-value]


def methods_of(value: object) -> tuple[str, ...]:
    """Names of the public methods that its class has from classes of this project, also where it replaces them."""
    found = {
        name
        for kind in type(value).__mro__
        for name, part in vars(kind).items()
        if inspect.isfunction(part) and not name.startswith("_") and not is_from_own_file(kind.__module__)
    }
    return tuple(sorted(found))


def guarded_methods(value: T, name: str, what: str) -> T:
    """A copy of an object of the user's own whose methods (`methods_of`) are `guarded`."""
    found = copy(value)
    for method in methods_of(value):
        vars(found)[method] = guarded(getattr(value, method), name, what)
    return found


def require(
    function: Callable[..., Any] | None, value: Any, allowed: Allowed, did: str = "returned a wrong value"
) -> Any:
    """What a function returned that may be the user's own (`guarded`). Raises ScenarioError, with the file and the line
    of the function, where the value is not allowed; what ours return is not looked at. `did`: what is wrong, in
    words."""
    known = getattr(function, _GUARDED, None)
    if known is None or function is None or allowed.holds(value):
        return value
    problem = f"{did}; found {shown(value)}; allowed: {allowed.words}"
    raise _failure(inspect.unwrap(function), known[0], problem)


def _failure(function: Any, name: str, problem: str) -> ScenarioError:
    """Of a function of the file of `path.py:NAME`, or one that this file borrowed."""
    file, line, called = _place(function)
    is_there = _owner(name)(file)
    shown_file = file if is_there and not is_in_file(name) else _shown(name)
    return ScenarioError(f"{called} {problem}", file=shown_file, line=line if is_there else None)


def place_of(function: Any) -> str:
    """`file:line: name` of a function, as far as it has them."""
    file, line, called = _place(inspect.unwrap(function))
    return f"{file}:{line}: {called}" if file else called


def _place(function: Any) -> tuple[str, int | None, str]:
    code = getattr(function, "__code__", None)
    called = str(getattr(function, "__qualname__", None) or type(function).__name__)
    return (code.co_filename, code.co_firstlineno, called) if code is not None else ("", None, called)
