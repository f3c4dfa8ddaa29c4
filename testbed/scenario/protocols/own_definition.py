"""What a protocol of the user's own may define, beyond the types of its fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass

from testbed.reading.known import Section
from testbed.scenario.protocols.known import names_where, programs, protocol_of
from testbed.scenario.protocols.names import DTYPES, FRAMINGS, PATH_MTUS, RECOVERIES
from testbed.scenario.protocols.own_code import is_in_file
from testbed.scenario.protocols.own_types import wrong_field
from testbed.scenario.protocols.protocol import KeyGroup, KnownProtocol
from workloads.ownvalues import Allowed, instances

__all__ = ["require_definition"]


def require_definition(name: str) -> None:
    """Of `path.py:NAME`. Raises ScenarioError as `load_protocol`, and for a field that holds what it may not."""
    for field, value, allowed in _definitions(name, protocol_of(name)):
        if not allowed.holds(value):
            raise wrong_field(name, field, value, allowed.words)


def _definitions(name: str, found: KnownProtocol) -> Iterator[tuple[str, object, Allowed]]:
    """What the types of the fields do not say."""
    yield "programs", found.programs, _words(tuple(programs))
    yield "recoveries", found.recoveries(), _words(tuple(RECOVERIES))
    yield "framings", found.framings(), _words(tuple(FRAMINGS))
    yield "largest_mtu", found.largest_mtu(), Allowed(f"one of {PATH_MTUS}", lambda mtu: mtu in PATH_MTUS)
    yield "worlds", found.worlds(), _words(("emulated", "simulated"))
    yield "servers", found.servers(), Allowed("0 or 1", lambda count: type(count) is int and count in (0, 1))
    yield "runs_files", found.runs_files(), Allowed("True or False", lambda runs: type(runs) is bool)
    if is_in_file(name) and found.runs_files():
        able = names_where(lambda each: each.runs_files())
        yield "like", found.like, Allowed(f"{', '.join(able)} (runs_files is true)", able.__contains__)
    groups = f"a frozenset of {', '.join(map(str, KeyGroup))}"
    yield "optional_keys", found.optional_keys(), Allowed(groups, lambda keys: keys <= frozenset(KeyGroup))
    for dtype in DTYPES:
        yield "wire_dtype", found.wire_dtype(dtype), Allowed(f"one of {', '.join(DTYPES)}", DTYPES.__contains__)
    for method, text in (("as_stage", found.as_stage()), ("as_fallback", found.as_fallback())):
        yield method, text, instances("text", str)
    is_window = Allowed("None, or a whole number from 1", lambda held: held is None or (type(held) is int and held > 0))
    yield "message_window", found.message_window(1, 1), is_window
    is_section = Allowed("a Section that is a dataclass", lambda kind: issubclass(kind, Section) and is_dataclass(kind))
    if found.job_keys is not None:
        yield "job_keys", found.job_keys, is_section


def _words(known: tuple[str, ...]) -> Allowed:
    return Allowed(f"some of {', '.join(known)}", lambda words: words and set(words) <= set(known))
