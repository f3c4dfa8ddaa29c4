"""The sections of a scenario file as checks of protocols see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from testbed.reading.known import NotKnown
from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.routing import Routing
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.transport import Transport
from topologies import LinkShape, Topology

__all__ = ["KnownSections"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSections:
    """A check that asks for a section which is not known ends there, without a word (NotKnown).

    The mistakes of that section are already reported. A section that is there may lack keys that are wrong, in the same
    way.
    """

    problems: Problems
    job: Job
    entries: Sequence[tuple[KeyPath, Job]]
    """of `jobs`, each with its place"""
    nics: tuple[tuple[str, str], ...]
    routing: Routing | None
    """None also where the file has none"""
    maybe_topology: Topology | None
    maybe_link: LinkShape | None
    maybe_switch: SwitchOptions | None
    maybe_transport: Transport | None
    maybe_world: str | None = None
    """None: it is not known"""

    @property
    def topology(self) -> Topology:
        return _known(self.maybe_topology, "topology")

    @property
    def link(self) -> LinkShape:
        """Known where the shapes of all links are."""
        return _known(self.maybe_link, "link")

    @property
    def switch(self) -> SwitchOptions:
        return _known(self.maybe_switch, "switch")

    @property
    def transport(self) -> Transport:
        return _known(self.maybe_transport, "transport")


def _known(section: T | None, name: str) -> T:
    if section is None:
        raise NotKnown(name)
    return section
