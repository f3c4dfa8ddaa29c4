"""What is known of a switch program before it runs: its name, what makes it, and which parts of a `SwitchConfig` it
uses.

A folder of `switch_nodes` that holds programs has a module `kind` with `KINDS`, one `ProgramKind` for each. There is no
list of them. An installed package adds one by an entry point (`workloads.plugins`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs
from workloads.ownvalues import shown
from workloads.plugins import PROGRAMS, plugins

if TYPE_CHECKING:
    from switch_nodes.program import CompiledSums, SwitchProgram

__all__ = ["ProgramFactory", "ProgramKind", "program_kinds", "sums", "unused_keys", "uses"]

ProgramFactory: TypeAlias = "Callable[[SwitchConfig], SwitchProgram]"


@dataclass(frozen=True, slots=True)
class ProgramKind:
    name: str
    summary: str
    """one line for people; empty: no scenario can choose it"""
    load: Callable[[], ProgramFactory]
    """imports and returns what makes it of a SwitchConfig: its class, or a function"""
    uses: tuple[str, ...] = ()
    """fields of SwitchConfig that it uses, besides those of every program; setting a field that only other programs
    name here is a configuration error"""
    knobs: tuple[str, ...] = ()
    """fields of AggregatorKnobs that it uses"""
    sums: bool = True
    """False: it only forwards"""
    some_only_forward: bool = False
    """whether a switch of this program that sums may be configured to aggregate nothing"""
    reports_slots: bool = False
    """its Machine has `bytes_in_slots` and `slot_waits` (`switch_nodes.program`)"""
    compiled: Callable[[], type[CompiledSums]] | None = None
    """imports and returns the class of its Machines that the compiled loop of virtual time drives; a class that derives
    from it is not driven. None: there is none"""
    is_card: bool = False
    """its switch is an aggregation card, configured through registers"""


@cache
def program_kinds() -> Mapping[str, ProgramKind]:
    """By name: the built-in ones in the order of their folders, then those that installed packages add. Raises
    ScenarioError for an entry point that is no ProgramKind, or has the name of a built-in one."""
    package = Path(__file__).parent
    folders = sorted(path.parent.name for path in package.glob("*/kind.py"))
    kinds = [kind for name in folders for kind in import_module(f"{__package__}.{name}.kind").KINDS]
    found = {kind.name: kind for kind in kinds}
    for plugin in plugins(PROGRAMS).values():
        kind = plugin.load()
        if not isinstance(kind, ProgramKind):
            raise plugin.wrong(
                "is no kind of switch program", found=shown(kind), allowed="a switch_nodes.kinds.ProgramKind"
            )
        if kind.name != plugin.name:
            raise plugin.wrong(f"calls itself {kind.name!r}", allowed=f"the name of its entry point, {plugin.name!r}")
        if kind.name in found:
            raise plugin.wrong("has the name of a built-in switch program", found=repr(kind.name))
        found[kind.name] = kind
    return found


def sums(program: str) -> bool:
    """Whether switches with this program aggregate. A program that is none of ours may."""
    kind = program_kinds().get(program)
    return kind is None or kind.sums


def uses(program: str, field: str) -> bool:
    """Whether a program of ours looks at this field of its configuration."""
    kind = program_kinds().get(program)
    return kind is not None and field in kind.uses


def unused_keys(config: SwitchConfig) -> Iterator[tuple[str, str]]:
    """(key, what the program uses there) of all that differs from its default though the program does not look at it. A
    program that is none of ours may use anything."""
    kind = program_kinds().get(config.program)
    if kind is None:
        return
    of_some = {name for each in program_kinds().values() for name in each.uses}
    for field in fields(SwitchConfig):
        if field.name in of_some and field.name not in kind.uses and getattr(config, field.name) != field.default:
            yield field.name, ", ".join(kind.uses)
    for knob in fields(AggregatorKnobs) if "knobs" in kind.uses else ():
        if knob.name not in kind.knobs and getattr(config.knobs, knob.name) != knob.default:
            yield f"knobs.{knob.name}", ", ".join(kind.knobs)
