"""A protocol of the user's own: a value `Protocol` in a file, as `--set job.collective=path.py:NAME`, or one that an
installed package adds. No scenario file may name a file of code: only a person does, on a command line."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from testbed.scenario.named import protocol_names
from testbed.scenario.overrides import SET_FILE
from testbed.scenario.own_code import guarded, load_own
from testbed.scenario.own_types import require_types
from testbed.scenario.protocol import Protocol
from workloads.errors import ScenarioError
from workloads.ownvalues import shown
from workloads.plugins import Plugin

__all__ = ["COLLECTIVE_KEY", "load_plugin", "load_protocol"]

COLLECTIVE_KEY = "job.collective"
_WHAT = "protocol"


def load_protocol(name: str) -> Protocol:
    """The protocol that a file defines.

    Raises ScenarioError when the file is not there, cannot be loaded, or has no such protocol. Also raises it for a
    protocol that no checker could judge, or that a kept scenario file could not replace by a protocol of ours.
    """
    path = Path(name.rpartition(":")[0])
    stamp = path.stat().st_mtime_ns if os.path.isfile(path) else 0
    return _loaded(name, str(path.resolve()), stamp)


@lru_cache(maxsize=64)
def _loaded(name: str, resolved: str, stamp: int) -> Protocol:
    """`resolved`, `stamp`: which file it is."""
    found: Protocol = load_own(
        name, _WHAT, lambda value: isinstance(value, Protocol), file=SET_FILE, key=COLLECTIVE_KEY
    )
    title = name.rpartition(":")[2]
    require_types(found, name)
    if found.like not in protocol_names():
        raise ScenarioError(
            f"protocol {title} does not say which collective of ours a kept scenario file names instead of it (like)",
            file=SET_FILE, key=COLLECTIVE_KEY, found=repr(found.like), allowed=", ".join(protocol_names()),
        )  # fmt: skip
    return _watched(found, name, title, file=SET_FILE)


def load_plugin(plugin: Plugin) -> Protocol:
    """The protocol that an installed package adds, known by the name of its entry point. Raises ScenarioError as
    `load_protocol`."""
    found = plugin.load()
    if not isinstance(found, Protocol):
        raise plugin.wrong("is no protocol", found=shown(found), allowed="a testbed.protocols.Protocol")
    require_types(found, plugin.target)
    if found.name != plugin.name:
        raise plugin.wrong(f"calls itself {found.name!r}", allowed=f"the name of its entry point, {plugin.name!r}")
    return _watched(found, plugin.name, plugin.name, file=f"{plugin.target} of {plugin.package}")


def _watched(found: Protocol, name: str, title: str, *, file: str) -> Protocol:
    """Under this name, with functions that are blamed for what they do wrong. `title`, `file`: for messages."""
    if found.traits.approximate and not found.checkers:
        raise ScenarioError(
            f"the sums of protocol {title} are approximate, and no checker of its own judges them (checkers)",
            file=file, key=COLLECTIVE_KEY, found="approximate=True", allowed="checkers=(Checker(...),)",
        )  # fmt: skip
    if found.order is None and not found.traits.approximate:
        raise ScenarioError(
            f"protocol {title} does not say in which order it adds (order), and its sums are not approximate",
            file=file, key=COLLECTIVE_KEY, found="order=None", allowed="a function as in "
                                                                           "testbed/checkers/orders.py",
        )  # fmt: skip
    changes: dict[str, Any] = {
        field.name: guarded(value, name, _WHAT)
        for field in fields(found)
        if callable(value := getattr(found, field.name)) and not isinstance(value, type)
    }
    changes["checks"] = tuple(guarded(check, name, _WHAT) for check in found.checks)
    changes["checkers"] = tuple(
        replace(
            checker, check=guarded(checker.check, name, _WHAT), skip=guarded(checker.skip, name, _WHAT), own=True
        )
        for checker in found.checkers
    )  # fmt: skip
    if found.hunt is not None and found.hunt.draw_keys is not None:
        changes["hunt"] = replace(found.hunt, draw_keys=guarded(found.hunt.draw_keys, name, _WHAT))
    return replace(found, name=name, **changes)
