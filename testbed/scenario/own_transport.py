"""A transport of the user's own: what it has, and what it says of frames, is held to its types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import get_type_hints

from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols.own_code import guarded, require
from testbed.scenario.protocols.own_types import wrong_field
from workloads.machine import Buffer
from workloads.ownvalues import Allowed, misfit
from workloads.transports import SentAs, TransportKind
from workloads.transports.timing import TimerKey, TimerNeed

__all__ = ["own_transport"]


def _is_sent(found: object) -> bool:
    return found is None or (
        isinstance(found, SentAs) and misfit(tuple(found), tuple[str, str, int, int, bool]) is None
    )


def _are_timers(found: object) -> bool:
    return isinstance(found, tuple) and all(isinstance(each, TimerKey) and each.field in _FIELDS for each in found)


def _are_values(timers: Iterable[TimerKey]) -> Allowed:
    wanted = {timer.field for timer in timers}
    return Allowed(
        f"{', '.join(f'`{field}`' for field in sorted(wanted))} and a whole number above 0",
        lambda found: (
            isinstance(found, Mapping)
            and set(found) == wanted
            and all(type(value) is int and value > 0 for value in found.values())
        ),
    )


_FIELDS = {field.name for field in fields(Transport)}
_NUMBER = Allowed("a whole number", lambda found: type(found) is int)
_TEXT = Allowed("a text", lambda found: isinstance(found, str))
_SENT = Allowed("a SentAs of two texts, two whole numbers and a bool; or None", _is_sent)
_TIMERS = Allowed("a tuple of TimerKeys with fields of the section `transport`", _are_timers)
_MAY_DIFFER = {
    "timer_keys": _TIMERS, "span_of": _NUMBER, "answer_bytes": _NUMBER, "after": _NUMBER, "distance": _NUMBER,
    "kind_name": _TEXT, "describe": _TEXT,
}  # fmt: skip
"""methods that have a default, and what they return"""


class _Watched(TransportKind):
    def __init__(self, found: TransportKind, name: str) -> None:
        for field, hint in get_type_hints(TransportKind).items():
            value = getattr(found, field, None)
            wrong = misfit(value, hint)
            if wrong is not None:
                raise wrong_field(name, f"transport.{field}", value, wrong[2])
            setattr(self, field, value)
        self._ask = guarded(found.identify, name, "protocol")
        self._choose = guarded(found.timer_values, name, "protocol")
        for method, allowed in _MAY_DIFFER.items():
            if getattr(type(found), method) is not getattr(TransportKind, method):
                setattr(self, method, _held(guarded(getattr(found, method), name, "protocol"), allowed))

    def identify(self, frame: Buffer) -> SentAs | None:
        found: SentAs | None = require(self._ask, self._ask(frame), _SENT)
        return found

    def timer_values(self, need: TimerNeed) -> Mapping[str, int]:
        found: Mapping[str, int] = require(
            self._choose, self._choose(need), _are_values(self.timer_keys(resends_alone=need.resends_alone))
        )
        return found


def _held(ask: Callable[..., object], allowed: Allowed) -> Callable[..., object]:
    return lambda *given, **named: require(ask, ask(*given, **named), allowed)


@lru_cache(maxsize=64)
def own_transport(found: TransportKind, name: str) -> TransportKind:
    """The same, watched. `name`: of its protocol. Raises ScenarioError for a field that holds what it may not, as do
    its methods for what they must not return, and for what they raise."""
    return _Watched(found, name)
