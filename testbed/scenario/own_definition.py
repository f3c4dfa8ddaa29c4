"""What a protocol of the user's own may define, beyond the types of its fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass

from testbed.reading.known import Section
from testbed.scenario.known import programs, protocol_of
from testbed.scenario.names import FRAMINGS, PATH_MTUS, RECOVERIES
from testbed.scenario.own_types import wrong_field
from testbed.scenario.protocol import KnownProtocol
from workloads.ownvalues import Allowed

__all__ = ["require_definition"]


def require_definition(name: str) -> None:
    """Of `path.py:NAME`. Raises ScenarioError as `load_protocol`, and for a field that holds what it may not."""
    for field, value, allowed in _definitions(protocol_of(name)):
        if not allowed.holds(value):
            raise wrong_field(name, field, value, allowed.words)


def _definitions(found: KnownProtocol) -> Iterator[tuple[str, object, Allowed]]:
    """What the types of the fields do not say."""
    traits = found.traits
    yield "programs", found.programs, _words(tuple(programs))
    yield "traits.recoveries", traits.recoveries, _words(tuple(RECOVERIES))
    yield "traits.framings", traits.framings, _words(tuple(FRAMINGS))
    yield "traits.largest_mtu", traits.largest_mtu, Allowed(f"one of {PATH_MTUS}", lambda mtu: mtu in PATH_MTUS)
    is_section = Allowed("a Section that is a dataclass", lambda kind: issubclass(kind, Section) and is_dataclass(kind))
    if found.job_keys is not None:
        yield "job_keys", found.job_keys, is_section


def _words(known: tuple[str, ...]) -> Allowed:
    return Allowed(f"some of {', '.join(known)}", lambda words: words and set(words) <= set(known))
