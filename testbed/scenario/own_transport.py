"""A transport of the user's own: what it has, and what it says of frames, is held to its types."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import get_type_hints

from testbed.scenario.own_code import guarded, require
from testbed.scenario.own_types import wrong_field
from workloads.machine import Buffer
from workloads.ownvalues import Allowed, misfit
from workloads.transports import SentAs, TransportKind
from workloads.transports.timing import TimerNeed

__all__ = ["own_transport"]


def _is_sent(found: object) -> bool:
    return found is None or (
        isinstance(found, SentAs) and misfit(tuple(found), tuple[str, str, int, int, bool]) is None
    )


def _are_values(found: object) -> bool:
    return (
        isinstance(found, Mapping) and set(found) == {"rto_ns"} and type(found["rto_ns"]) is int and found["rto_ns"] > 0
    )


_VALUES = Allowed("`rto_ns` and a whole number above 0", _are_values)
_SENT = Allowed("a SentAs of two texts, two whole numbers and a bool; or None", _is_sent)


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

    def identify(self, frame: Buffer) -> SentAs | None:
        found: SentAs | None = require(self._ask, self._ask(frame), _SENT)
        return found

    def timer_values(self, need: TimerNeed) -> Mapping[str, int]:
        found: Mapping[str, int] = require(self._choose, self._choose(need), _VALUES)
        return found


@lru_cache(maxsize=64)
def own_transport(found: TransportKind, name: str) -> TransportKind:
    """The same, watched. `name`: of its protocol. Raises ScenarioError for a field that holds what it may not, as does
    `identify` and `timer_values` for what they must not return, and for what they raise."""
    return _Watched(found, name)
