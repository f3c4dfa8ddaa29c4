"""Protocols by name, or by `path.py:NAME`. Ours are the folders of `testbed/protocols/`; installed packages add others.
Each is imported when it is first asked for: it binds parts of higher floors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from testbed.scenario.protocols.named import protocol_names
from workloads.errors import InternalError, ScenarioError
from workloads.plugins import PROGRAMS, PROTOCOLS, plugins

if TYPE_CHECKING:
    from switch_nodes.kinds import ProgramKind
    from testbed.scenario.protocols.protocol import KnownProtocol

__all__ = [
    "Listed",
    "lacks_methods",
    "names_where",
    "programs",
    "protocol_of",
    "protocols",
    "summaries",
]

_PACKAGE = "testbed.protocols"


def protocol_of(name: str) -> KnownProtocol:
    """Of a value of `job.protocol`: a name, or `path.py:NAME`. Raises InternalError when there is none, ScenarioError
    for a file that does not have it."""
    if ":" in name:  # as own_code.is_own_code; which these names do not need
        from testbed.scenario.protocols.own_protocol import load_protocol

        return load_protocol(name)
    if name not in protocol_names():
        raise InternalError(f"there is no protocol {name!r}")
    return _named(name)


def lacks_methods(protocol: KnownProtocol) -> ScenarioError:
    """For a floor that asks for methods which its class does not have: only code of the user's own can."""
    return ScenarioError(
        f"protocol {protocol.name} lacks methods", found=type(protocol).__name__,
        allowed="a class that derives from testbed.protocols.Protocol",
    )  # fmt: skip


@cache
def _named(name: str) -> KnownProtocol:
    plugin = plugins(PROTOCOLS).get(name)
    if plugin is not None:
        from testbed.scenario.protocols.own_protocol import load_plugin

        return load_plugin(plugin)
    return cast("KnownProtocol", import_module(f"{_PACKAGE}.{name}").PROTOCOL)


def protocols() -> Iterator[KnownProtocol]:
    """All that have a name, in the order of the alphabet."""
    return map(protocol_of, protocol_names())


def names_where(holds: Callable[[KnownProtocol], object]) -> tuple[str, ...]:
    """Names of protocols for which `holds` is true, for messages."""
    return tuple(protocol.name for protocol in protocols() if holds(protocol))


class Listed(Mapping[str, str]):
    """Word -> its line for people, found out when somebody asks."""

    def __init__(
        self, names: Callable[[], tuple[str, ...]], line: Callable[[str], str], known: Callable[[], Collection[str]]
    ) -> None:
        """`known`: `names` in any order, which may be found out sooner."""
        self._names, self._line, self._known = names, line, known

    def __getitem__(self, name: str) -> str:
        if name not in self._known():
            raise KeyError(name)
        return self._line(name)

    def __contains__(self, name: object) -> bool:
        return name in self._known()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


def _program_kinds() -> Mapping[str, ProgramKind]:
    from switch_nodes.kinds import program_kinds

    return program_kinds()


def _program_names() -> tuple[str, ...]:
    """In the order of the protocols that they serve; those that only forward last."""
    kinds = _program_kinds()
    served = dict.fromkeys(name for protocol in protocols() for name in protocol.programs)
    return tuple(sorted(served, key=lambda name: not kinds[name].sums))


def _chosen_programs() -> tuple[str, ...]:
    return tuple(kind.name for kind in _program_kinds().values() if kind.summary)


def _with_package(line: str, name: str, group: str) -> str:
    plugin = plugins(group).get(name)
    return line if plugin is None else f"{line} (package {plugin.package})"


summaries = Listed(
    protocol_names, lambda name: _with_package(protocol_of(name).summary, name, PROTOCOLS), protocol_names
)
programs = Listed(
    _program_names, lambda name: _with_package(_program_kinds()[name].summary, name, PROGRAMS), _chosen_programs
)
"""programs that a scenario can choose"""
