"""The state of a Machine is kept, put back and compared, whatever it is made of."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter, deque
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from testbed.states.forgotten import SAME
from testbed.states.memento import described, keep, put_back
from workloads.errors import InternalError


class _Slotted:
    __slots__ = ("late", "value")

    def __init__(self) -> None:
        self.value = 1


class _Machine:
    def __init__(self) -> None:
        self.number, self.words = 1, ["a"]
        self.table = {"x": [1, 2]}
        self.line = deque([1, 2])
        self.known = {1, 2}
        self.counted = Counter("aab")
        self.longs, self.octets = array("q", [1, 2]), bytearray(b"ab")
        self.values = np.arange(4)
        self.part = self.values[1:3]
        self.view = memoryview(self.octets)
        self.slotted = _Slotted()
        self.digest = hashlib.sha256(b"a")
        self.again = self.words
        self.add = _adder()


def _adder() -> Callable[[], int]:
    total = 0

    def add() -> int:
        nonlocal total
        total += 1
        return total

    return add


def _same(_: object, __: str) -> object:
    return SAME


def _change(machine: Any) -> None:
    machine.number = 2
    machine.words.append("b")
    machine.table["y"] = []
    machine.table["x"].pop()
    machine.line.popleft()
    machine.known.add(3)
    machine.counted["b"] += 5
    machine.longs[0] = 7
    machine.view[0] = 0
    machine.part[0] = 9
    machine.slotted.value, machine.slotted.late = 2, 3
    machine.digest.update(b"b")
    machine.new = 1
    machine.add()


def test_all_that_changed_is_put_back_into_the_same_objects() -> None:
    machine = _Machine()
    before, table, kept = described(machine, _same), machine.table, keep(machine)
    for _ in range(2):
        _change(machine)
        assert described(machine, _same) != before
        put_back(kept)
        assert described(machine, _same) == before
    assert machine.table is table
    assert machine.again is machine.words
    assert machine.counted == Counter("aab")
    assert not hasattr(machine, "new")
    assert not hasattr(machine.slotted, "late")
    assert machine.add() == 1
    assert machine.digest.hexdigest() == hashlib.sha256(b"a").hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        lambda machine: machine.words.append("b"), lambda machine: machine.longs.append(1),
        lambda machine: machine.part.fill(8), lambda machine: machine.digest.update(b"c"),
        lambda machine: machine.add(), lambda machine: setattr(machine.slotted, "late", 0),
        lambda machine: setattr(machine, "again", ["a"]),
    ],
)  # fmt: skip
def test_a_change_shows_in_the_description(change: Callable[[Any], object]) -> None:
    one, other = _Machine(), _Machine()
    assert described(one, _same) == described(other, _same)
    change(other)
    assert described(one, _same) != described(other, _same)


def test_what_is_forgotten_does_not_show() -> None:
    one, other = _Machine(), _Machine()
    other.number = 5

    def shown(_: object, name: str) -> object:
        return None if name == "number" else SAME

    assert described(one, shown) == described(other, shown)


@pytest.mark.parametrize("hidden", [Random(1), (each for each in "ab"), iter([1])])
def test_what_cannot_be_put_back_is_refused(hidden: object) -> None:
    machine: Any = _Machine()
    machine.hidden = hidden
    with pytest.raises(InternalError, match="cannot be kept"):
        keep(machine)
