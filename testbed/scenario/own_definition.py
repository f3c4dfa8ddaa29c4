"""What a protocol of the user's own may define, beyond the types of its fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module

from testbed.reading.known import Section
from testbed.scenario.known import programs, protocol_of
from testbed.scenario.names import DTYPES, FRAMINGS, PATH_MTUS, RECOVERIES
from testbed.scenario.own_types import wrong_field
from testbed.scenario.protocol import Protocol
from workloads.ownvalues import Allowed

__all__ = ["require_definition"]


def require_definition(name: str) -> None:
    """Of `path.py:NAME`. Raises ScenarioError as `load_protocol`, and for a field that holds what it may not."""
    for field, value, allowed in _definitions(protocol_of(name)):
        if not allowed.holds(value):
            raise wrong_field(name, field, value, allowed.words)


def _definitions(found: Protocol) -> Iterator[tuple[str, object, Allowed]]:
    """What the types of the fields do not say."""
    traits, hunt = found.traits, found.hunt
    yield "programs", found.programs, _words(tuple(programs))
    yield "traits.recoveries", traits.recoveries, _words(tuple(RECOVERIES))
    yield "traits.framings", traits.framings, _words(tuple(FRAMINGS))
    yield "traits.largest_mtu", traits.largest_mtu, Allowed(f"one of {PATH_MTUS}", lambda mtu: mtu in PATH_MTUS)
    yield "traits.told_share", traits.told_share, Allowed("a number from 0 to 1000", lambda share: 0 <= share <= 1000)
    is_section = Allowed("a Section that is a dataclass", lambda kind: issubclass(kind, Section) and is_dataclass(kind))
    if found.job_keys is not None:
        yield "job_keys", found.job_keys, is_section
    if hunt is None:
        return
    counts = Allowed("a whole number from 1", lambda count: count >= 1)
    for name in ("values_per_index", "frames_each_way", "vectors", "waits"):
        yield f"hunt.{name}", getattr(hunt, name), counts
    dtypes = Allowed("one weight from 1 at least", lambda weights: weights and min(weights.values()) >= 1)
    yield "hunt.dtypes", hunt.dtypes, dtypes
    yield "hunt.dtypes", tuple(hunt.dtypes), _words(tuple(DTYPES))
    for name in ("draw", "rules", "values", "smaller"):
        yield f"hunt.{name}", getattr(hunt, name), Allowed("module:function", lambda named: callable(_named(named)))
    argument = Allowed("module:NAME of a Survival", lambda named: type(_named(named)).__name__ == "Survival")
    yield "hunt.survival", hunt.survival, argument


def _words(known: tuple[str, ...]) -> Allowed:
    return Allowed(f"some of {', '.join(known)}", lambda words: words and set(words) <= set(known))


def _named(reference: str) -> object:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
