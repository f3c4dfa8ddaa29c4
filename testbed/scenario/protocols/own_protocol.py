"""A protocol of the user's own: an object of class `Protocol` in a file, as `--set job.protocol=path.py:NAME`, or one
that an installed package adds. No scenario file may name a file of code: only a person does, on a command line."""

from __future__ import annotations

import os
from copy import copy
from functools import lru_cache
from pathlib import Path

from testbed.scenario.overrides import SET_FILE
from testbed.scenario.protocols.named import protocol_names
from testbed.scenario.protocols.own_code import guarded, guarded_methods, load_own
from testbed.scenario.protocols.own_types import require_types
from testbed.scenario.protocols.protocol import KnownProtocol
from workloads.errors import ScenarioError
from workloads.ownvalues import shown
from workloads.plugins import Plugin

__all__ = ["PROTOCOL_KEY", "load_plugin", "load_protocol"]

PROTOCOL_KEY = "job.protocol"
_WHAT = "protocol"


def load_protocol(name: str) -> KnownProtocol:
    """The protocol that a file defines.

    Raises ScenarioError when the file is not there, cannot be loaded, or has no such protocol. Also raises it for a
    protocol that no checker could judge, or that a kept scenario file could not replace by a protocol of ours.
    """
    path = Path(name.rpartition(":")[0])
    stamp = path.stat().st_mtime_ns if os.path.isfile(path) else 0
    return _loaded(name, str(path.resolve()), stamp)


@lru_cache(maxsize=64)
def _loaded(name: str, resolved: str, stamp: int) -> KnownProtocol:
    """`resolved`, `stamp`: which file it is."""
    found: KnownProtocol = load_own(name, _WHAT, _is_protocol, file=SET_FILE, key=PROTOCOL_KEY)
    title = name.rpartition(":")[2]
    require_types(found, name)
    if found.like not in protocol_names():
        raise ScenarioError(
            f"protocol {title} does not say which protocol of ours a kept scenario file names instead of it (like)",
            file=SET_FILE, key=PROTOCOL_KEY, found=repr(found.like), allowed=", ".join(protocol_names()),
        )  # fmt: skip
    return _watched(found, name, title, file=SET_FILE)


def _is_protocol(value: object) -> bool:
    """With the methods of all floors."""
    return isinstance(value, KnownProtocol) and value.whole


def load_plugin(plugin: Plugin) -> KnownProtocol:
    """The protocol that an installed package adds, known by the name of its entry point. Raises ScenarioError as
    `load_protocol`."""
    found = plugin.load()
    if not isinstance(found, KnownProtocol) or not found.whole:
        raise plugin.wrong("is no protocol", found=shown(found), allowed="a testbed.protocols.Protocol")
    require_types(found, plugin.target)
    if found.name != plugin.name:
        raise plugin.wrong(f"calls itself {found.name!r}", allowed=f"the name of its entry point, {plugin.name!r}")
    return _watched(found, plugin.name, plugin.name, file=f"{plugin.target} of {plugin.package}")


def _watched(found: KnownProtocol, name: str, title: str, *, file: str) -> KnownProtocol:
    """Under this name, with functions that are blamed for what they do wrong. `title`, `file`: for messages."""
    lacks = guarded(found.shortfall, name, _WHAT)()
    if lacks is not None:
        raise ScenarioError(
            f"protocol {title} {lacks.problem}", file=file, key=PROTOCOL_KEY, found=lacks.found,
            allowed=lacks.allowed,
        )  # fmt: skip
    watched = copy(found)
    vars(watched)["name"] = name
    return guarded_methods(watched, name, _WHAT)
