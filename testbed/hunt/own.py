"""The hunt of a protocol of the user's own: what it may define."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from testbed.hunt.contract import Hunt, Protocol
from testbed.scenario.protocols.names import DTYPES
from testbed.scenario.protocols.own_code import guarded_methods, methods_of, require
from testbed.scenario.protocols.own_types import wrong_field
from workloads.ownvalues import Allowed, misfit

__all__ = ["own_hunt"]


@lru_cache(maxsize=64)
def own_hunt(protocol: Protocol) -> Hunt | None:
    """Watch its methods (`guarded`). Raises ScenarioError for what is no hunt, and for a field that holds what it may
    not."""
    a_hunt = Allowed("a Hunt, or None", lambda found: found is None or isinstance(found, Hunt))
    hunt: Hunt | None = require(protocol.hunt, protocol.hunt(), a_hunt)
    if hunt is None:
        return None
    if (wrong := misfit(hunt, Hunt)) is not None:
        raise wrong_field(protocol.name, f"hunt.{wrong[0]}", *wrong[1:])
    for name, value, allowed in _definitions(hunt):
        if not allowed.holds(value):
            raise wrong_field(protocol.name, f"hunt.{name}", value, allowed.words)
    return guarded_methods(hunt, protocol.name, "protocol")


def _definitions(hunt: Hunt) -> Iterator[tuple[str, object, Allowed]]:
    """What the types of the fields do not say."""
    counts = Allowed("a whole number from 1", lambda count: count >= 1)
    for name in ("values_per_index", "frames_each_way", "vectors", "waits"):
        yield name, getattr(hunt, name), counts
    yield "dtypes", hunt.dtypes, Allowed("one weight from 1 at least", lambda held: held and min(held.values()) >= 1)
    known = Allowed(f"some of {', '.join(DTYPES)}", lambda words: set(words) <= set(DTYPES))
    yield "dtypes", tuple(hunt.dtypes), known
    for name in methods_of(hunt):
        yield name, getattr(hunt, name), Allowed("a function", callable)
