"""Sections: one declaration, and what is made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from testbed.reading.changes import changes_of, difference, with_changes
from testbed.reading.compound import ListOf, Tagged
from testbed.reading.documentation import key_rows
from testbed.reading.fields import BoolKey, DurationKey, SizeKey, choice, whole, whole_or
from testbed.reading.keytypes import At, Told
from testbed.reading.problems import Place, Problems
from testbed.reading.sections import (
    Key,
    NotKnown,
    Section,
    SectionType,
    as_far_as_known,
    changed,
    declare_keys,
    names_of,
    read_section,
    write_section,
)


@dataclass(frozen=True, slots=True)
class Span(Section):
    start_ns: Annotated[DurationKey, Key("from")] = 0
    """when it begins"""
    stop_ns: Annotated[DurationKey | None, Key("until")] = None


@dataclass(frozen=True, slots=True)
class Inner(Section):
    """What is inside."""

    size_bytes: SizeKey = 4
    on: BoolKey = False
    """whether it is ([page](page.md#place))"""


@dataclass(frozen=True, slots=True)
class Outer(Section):
    count: Annotated[int, whole(1, 9)]
    word: Annotated[str, choice(["a", "b"])] = "a"
    psn: Annotated[int | None, whole_or("random", None, 0, 9)] = None
    span: Annotated[Span, Key(flat=True, needs=("until",))] = Span()
    inner: Inner = Inner()
    several: Annotated[tuple[Inner | None, ...], ListOf(SectionType(Inner, "the thing"))] = ()
    own: int = 5
    """no key: for the program alone"""

    def check(self, at: At) -> None:
        if self.word == "b" and self.inner.on:
            (at / "word").add("does not go with inner.on")


@dataclass(frozen=True)
class Below:
    """A value of a lower floor."""

    rate: int = 3


declare_keys(Below, rate=(Annotated[int, whole(1, 5)], "how fast"))


def _read(data: Any, section: type = Outer, **more: Any) -> tuple[Any, list[str]]:
    problems = Problems("f.yaml", {(): Place("f.yaml", 1)})
    found: Any = read_section(At(problems, ("x",)), data, section, "the x", **more)
    return found, [str(error) for error in getattr(problems.as_error(), "problems", ())] if problems else []


def test_what_is_read_is_written():
    data = {
        "count": 2, "word": "b", "psn": "random", "from": "1ms", "until": "2ms", "inner": {"size": "8B", "on": False},
        "several": [{"size": "4B", "on": True}],
    }  # fmt: skip
    found, problems = _read(data)
    assert problems == []
    assert found == Outer(2, "b", None, Span(10**6, 2 * 10**6), Inner(8), (Inner(4, on=True),))
    assert write_section(found) == data


def test_names_leave_out_units_and_flat_sections_give_theirs():
    assert names_of(Outer) == ["count", "word", "psn", "from", "until", "inner", "several"]


def test_every_problem_of_a_section_is_told():
    data = {"count": 10, "word": "c", "psn": None, "inner": {"on": 1, "of": 2}, "several": [{}, 3], "form": 1}
    found, problems = _read(data)
    assert sorted(line.split("x.", 1)[1] for line in problems) == [
        "count: out of range; found 10; allowed: a whole number from 1 to 9",
        "form: unknown key; allowed: count, word, psn, from, until, inner, several; did you mean 'from'?",
        "inner.of: unknown key; allowed: size, on",
        "inner.on: neither true nor false; found 1; allowed: true, false",
        "psn: has no value; allowed: a value, or leave the key out",
        "several[1]: the thing is not a mapping; found 3; allowed: keys with values, one per line",
        "until: is missing; allowed: a number with ns, us, ms, s or min, as 2ms",
        "word: unknown value; found 'c'; allowed: a, b",
    ]
    assert found.several == (Inner(), None)
    assert found.inner.size_bytes == 4


def test_a_check_ends_where_nothing_is_known_and_the_others_go_on():
    found, _ = _read({"count": 2, "until": "1s", "word": "c"})
    assert found.count == 2
    with pytest.raises(NotKnown):
        _ = found.word
    told = []
    with as_far_as_known():
        told.append(found.count)
        told.append(found.word)
    assert told == [2]
    assert changed(found, count=3).count == 3
    assert changed(found, word="a") == Outer(2, "a", None, Span(0, 10**9))


def test_an_attribute_that_is_no_key_is_a_mistake_of_the_program():
    with pytest.raises(AttributeError, match="Outer has no color") as caught:
        _ = getattr(Outer(1), "color")  # noqa: B009
    assert not isinstance(caught.value, NotKnown)


def test_a_section_checks_itself():
    _, problems = _read({"count": 2, "until": "1s", "word": "b", "inner": {"on": True}})
    assert problems == ["f.yaml:1: x.word: does not go with inner.on"]


def test_defaults_may_come_from_elsewhere():
    found, problems = _read({"until": "1s"}, defaults={"count": 7})
    assert (found.count, problems) == (7, [])


def test_values_of_a_lower_floor_are_sections_too():
    assert _read({"rate": 4}, Below) == (Below(4), [])
    assert write_section(Below(2)) == {"rate": 2}
    found, problems = _read({"rate": 6}, Below)
    assert found is None
    assert len(problems) == 1


def test_changes_hold_what_is_different():
    changes = changes_of(Below, "BelowChanges")
    found, problems = _read({}, changes)
    assert (write_section(found), with_changes(Below(4), found), problems) == ({}, Below(4), [])
    found, _ = _read({"rate": 2}, changes)
    assert with_changes(Below(4), found) == Below(2)
    assert difference(Below(2), Below(4), changes) == found
    assert difference(Below(2), Below(2), changes) == changes()


_KINDS = Tagged("kind", lambda: {"inner": Inner, "span": Span}, "the thing", "unknown kind of thing")


def test_a_word_says_which_kind_a_section_is():
    problems = Problems("f.yaml", {})
    at = At(problems, ("x",))
    assert _KINDS.read({"kind": "span", "from": "1s"}, at) == Span(10**9)
    assert _KINDS.write(Span(10**9)) == {"kind": "span", "from": "1s"}
    for data in ({"kind": "outer"}, {}):
        with pytest.raises(Told):
            _KINDS.read(data, at)
    _KINDS.read({"kind": "inner", "sise": 1}, at)
    assert [str(error) for error in problems.as_error().problems] == [
        "f.yaml: x.kind: unknown kind of thing; found 'outer'; allowed: inner, span",
        "f.yaml: x.kind: is missing; allowed: inner, span",
        "f.yaml: x.sise: unknown key; allowed: kind, size, on; did you mean 'size'?",
    ]


def test_tables_of_keys_hold_default_and_meaning():
    assert key_rows(Inner) == [("`size`", "`4B`", ""), ("`on`", "`false`", "whether it is ([page](page.md#place))")]
    assert key_rows(Outer)[:2] == [("`count`", "required", ""), ("`word`", "`a`", "")]
