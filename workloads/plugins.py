"""Parts that installed packages add, found by their entry points (docs/extending.md)."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from workloads.blame import in_one_line, is_interrupt
from workloads.errors import ScenarioError

__all__ = ["PROGRAMS", "PROTOCOLS", "Plugin", "is_of_plugin", "plugin_of", "plugins"]

PROTOCOLS, PROGRAMS = "ina_testbed.protocols", "ina_testbed.programs"
"""groups of entry points"""
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*\Z")


@dataclass(frozen=True, slots=True)
class Plugin:
    name: str
    target: str
    """`module:attribute`"""
    package: str
    """name and version of the distribution"""

    @property
    def top(self) -> str:
        """Its top-level module."""
        return self.target.partition(":")[0].partition(".")[0]

    def owns(self, filename: str) -> bool:
        """Whether a source file belongs to its top-level module."""
        return any(filename == place or filename.startswith(f"{place}/") for place in self.places())

    def places(self) -> tuple[str, ...]:
        """The folder of its package, or its one file. Nothing of it is run."""
        from importlib.util import find_spec

        spec = find_spec(self.top)
        if spec is None:
            return ()
        return tuple(spec.submodule_search_locations or filter(None, (spec.origin,)))

    def sources(self) -> list[Path]:
        """Its Python files."""
        found = (Path(place) for place in self.places())
        return sorted(file for place in found for file in (place.rglob("*.py") if place.is_dir() else (place,)))

    def load(self) -> object:
        """What the entry point names. Raises ScenarioError where that cannot be imported."""
        module, _, attribute = self.target.partition(":")
        try:
            found: object = getattr(importlib.import_module(module), attribute)
        except BaseException as error:
            if is_interrupt(error):
                raise
            raise self.wrong(f"cannot be imported: {in_one_line(error)}") from error
        return found

    def wrong(self, problem: str, *, found: str | None = None, allowed: str | None = None) -> ScenarioError:
        """The error of a part that the testbed cannot use."""
        return ScenarioError(
            f"{self.target} {problem}", file=f"installed package {self.package}", key=self.name, found=found,
            allowed=allowed, hint="mend the package, or uninstall it",
        )  # fmt: skip


@cache
def plugins(group: str) -> Mapping[str, Plugin]:
    """By name, in the order of their names. Raises ScenarioError for an entry point that nothing could use, and for two
    of one name."""
    from importlib.metadata import entry_points  # takes long to import

    found = dict[str, Plugin]()
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "?"
        plugin = Plugin(entry.name, entry.value.replace(" ", ""), package)
        if not _NAME.match(plugin.name):
            raise plugin.wrong(
                "has a name that no scenario can hold", found=repr(plugin.name), allowed="small letters, digits and _"
            )
        if not _TARGET.match(plugin.target):
            raise plugin.wrong(f"is no entry point of {group}", found=repr(entry.value), allowed="module:NAME")
        other = found.get(plugin.name)
        if other is not None and other != plugin:
            raise plugin.wrong(f"has the name of one of {other.package}", found=repr(plugin.name))
        found[plugin.name] = plugin
    return MappingProxyType(found)


def plugin_of(name: str) -> Plugin | None:
    """The protocol, or else the switch program, of this name that an installed package adds."""
    return plugins(PROTOCOLS).get(name) or plugins(PROGRAMS).get(name)


def is_of_plugin(module: str) -> bool:
    """Whether a module belongs to a package that adds parts."""
    top = module.partition(".")[0]
    return any(plugin.top == top for group in (PROTOCOLS, PROGRAMS) for plugin in plugins(group).values())
