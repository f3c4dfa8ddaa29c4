"""Classes with the compiled `__init__` behave as their dataclasses do."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass

import pytest

from testbed.faults.events import FaultStruck
from testbed.history import Record
from testbed.history.building import hasten
from testbed.history.eventkinds import KNOWN_KINDS
from tests.support.compiled import needs_compiled
from workloads.datagrams.blocks import BlockReplayed


@dataclass(frozen=True, slots=True)
class _Plain:
    first: int
    second: str = "two"


@dataclass(frozen=True, slots=True)
class _Checked:
    first: int

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("below 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    first: int


@dataclass(frozen=True)
class _Open:
    first: int


@pytest.fixture
def plain() -> type[_Plain]:
    @dataclass(frozen=True, slots=True)
    class Plain:
        first: int
        second: str = "two"

    hasten(Plain)
    return Plain  # type: ignore[return-value]


def test_all_ways_to_call_it_give_the_same_value(plain: type[_Plain]) -> None:
    values = (plain(1, "two"), plain(1), plain(first=1), plain(1, second="two"))
    assert {(value.first, value.second) for value in values} == {(1, "two")}
    assert len(set(values)) == 1
    assert dataclasses.replace(values[0], first=2) == plain(2)
    assert list(inspect.signature(plain).parameters) == ["first", "second"]


def test_it_stays_frozen_and_names_what_is_missing(plain: type[_Plain]) -> None:
    with pytest.raises(FrozenInstanceError):
        plain(1).first = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'first'"):
        plain()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes from 2 to 3 positional arguments but 4 were given"):
        plain(1, "two", 3)  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", [_Checked, _Named, _Open, int])
def test_classes_that_do_more_keep_their_own(kind: type) -> None:
    before = kind.__init__  # type: ignore[misc]
    hasten(kind)
    assert kind.__init__ is before  # type: ignore[misc]
    with pytest.raises(ValueError, match="below 0"):
        _Checked(-1)


@needs_compiled
def test_events_and_records_have_it() -> None:
    own = [kind for kind in (*KNOWN_KINDS, Record) if not hasattr(vars(kind)["__init__"], "__wrapped__")]
    assert [kind for kind in own if dataclasses.fields(kind)] == []
    record = Record(3, "s1", BlockReplayed(1, 2, 3, 4))
    assert pickle.loads(pickle.dumps(record)) == record
    assert FaultStruck("f", "loss", "user", "l", "up", "", -1, 0, 1).packet == ""
