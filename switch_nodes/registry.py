"""Switch programs by name. A user's own program is one file: the name `path.py:Class` loads it."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from typing import Any

from switch_nodes.config import SwitchConfig
from switch_nodes.kinds import ProgramFactory, ProgramKind, program_kinds
from switch_nodes.own_program import watched
from switch_nodes.program import SwitchProgram
from switch_nodes.program_files import PROGRAM_KEY, program_path
from workloads.blame import deepest_place, in_one_line, is_interrupt
from workloads.errors import ScenarioError
from workloads.ownvalues import shown
from workloads.plugins import PROGRAMS, Plugin, plugins

__all__ = ["ProgramFactory", "built_on", "check_program_file", "create_program", "program_names", "register_program"]

_VERBS = ("receive_frame", "frames_to_send", "get_timer", "handle_timer", "next_event", "finish")
_factories: dict[str, ProgramFactory] = {}
"""factories of programs that were registered; those of ours are `switch_nodes.kinds`"""


def register_program(name: str, factory: ProgramFactory) -> None:
    """Make `factory` known as `name`. Raises ScenarioError when the name is taken, empty, or has a colon as a file
    does."""
    if name in program_names():
        raise ScenarioError(f"switch program {name!r} is already registered", key=PROGRAM_KEY)
    if not name or ":" in name:
        raise ScenarioError(
            "a program's name has no colon and at least one character", key=PROGRAM_KEY, found=repr(name)
        )
    _factories[name] = factory


def program_names() -> tuple[str, ...]:
    """All registered names, sorted."""
    return tuple(sorted({*program_kinds(), *_factories}))


def create_program(config: SwitchConfig) -> SwitchProgram:
    """The Machine of one switch. Raises ScenarioError for an unknown name, for a file that cannot be loaded, and for a
    configuration that the program refuses. Raises ProgramFailed (a ScenarioError) where a user's own code fails; the
    methods of that program raise it too."""
    return _factory(config.program)(config)


def _factory(program: str) -> ProgramFactory:
    if program in _factories:
        return _factories[program]
    if ":" in program:
        return _load(program)
    kind = program_kinds().get(program)
    if kind is None:
        raise _unknown(program)
    plugin = plugins(PROGRAMS).get(program)
    if plugin is not None:
        return _of_plugin(plugin, kind)
    return kind.load()


def _of_plugin(plugin: Plugin, kind: ProgramKind) -> ProgramFactory:
    try:
        found: object = kind.load()
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise plugin.wrong(f"cannot be loaded: {in_one_line(error)}") from error
    if not isinstance(found, type):
        raise plugin.wrong("loads no class (load)", found=shown(found), allowed="a function that returns the class")
    missing = [verb for verb in _VERBS if not callable(getattr(found, verb, None))]
    if missing:
        raise plugin.wrong(f"names a class that is no switch program: it lacks {', '.join(missing)}")
    file = str(getattr(importlib.import_module(found.__module__), "__file__", None) or "?")
    return watched(found, file, file)


def check_program_file(name: str) -> None:
    """Raises ScenarioError when `name` is `path.py:Class` and that class cannot be loaded."""
    if ":" in name:
        _load(name)


def _unknown(name: str) -> ScenarioError:
    known = program_names()
    close = difflib.get_close_matches(name, known, n=len(known), cutoff=0.4)
    names = close + [other for other in known if other not in close]
    return ScenarioError(
        "unknown switch program", key=PROGRAM_KEY, found=repr(name), allowed=", ".join(names) + " or path.py:Class"
    )


def built_on(name: str) -> tuple[str, ...]:
    """Of `path.py:Class`: the names of our programs that its nearest base of ours can be. Raises as
    `check_program_file`."""
    found, _, _ = _class_of(name)
    kinds = program_kinds().values()
    for base in found.__mro__:
        near = [kind for kind in kinds if _folder(base.__module__) in _folders(kind)]
        exact = [kind for kind in near if kind.load() is base]
        if near:
            return tuple(kind.name for kind in exact or near)
    return ()


def _folders(kind: ProgramKind) -> list[list[str]]:
    """Its own, and that of its class. Cards have no class to derive from, and their packages may be missing."""
    own = [_folder(kind.load.__module__)]
    return own if kind.is_card else [*own, _folder(kind.load().__module__)]


def _folder(module: str) -> list[str]:
    return module.split(".")[:2]


def _load(name: str) -> ProgramFactory:
    found, path_text, origin = _class_of(name)
    if found.__module__.partition(".")[0] == __package__:  # only imported there: it is ours
        factory: ProgramFactory = found
        return factory
    return watched(found, path_text, origin)


def _class_of(name: str) -> tuple[Any, str, str]:
    """`path.py:Class` -> (the class, the file as named, its path). The file is the user's own, named in the scenario or
    on the command line."""
    path_text, _, class_name = name.rpartition(":")
    path = program_path(name)
    spec = importlib.util.spec_from_file_location(f"switch_program_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ScenarioError("the program file cannot be loaded", key=PROGRAM_KEY, found=repr(path_text))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look up what annotations mean
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        if is_interrupt(error):
            raise
        place = deepest_place(error, str(spec.origin))
        line = error.lineno if isinstance(error, SyntaxError) and error.filename == spec.origin else place and place[0]
        raise ScenarioError(
            f"the program file cannot be loaded: {in_one_line(error)}", file=path_text, line=line, key=PROGRAM_KEY
        ) from error
    found: Any = getattr(module, class_name, None)
    if not isinstance(found, type):
        classes = [key for key, value in vars(module).items() if isinstance(value, type) and not key.startswith("_")]
        raise ScenarioError(
            f"the program file {path_text} has no such class",
            key=PROGRAM_KEY,
            found=repr(class_name),
            allowed=", ".join(classes),
        )
    missing = [verb for verb in _VERBS if not callable(getattr(found, verb, None))]
    if missing:
        raise ScenarioError(f"class {class_name} of {path_text} is no switch program: it lacks {', '.join(missing)}")
    return found, path_text, str(spec.origin)
