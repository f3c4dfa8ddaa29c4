from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.codec import PLAIN, Codec, Misfit, describe, unless_default


@dataclass(frozen=True)
class Leaf:
    number: int
    share: float = 0.5
    data: bytes = b""
    note: str = unless_default("")


@dataclass(frozen=True)
class Branch:
    name: str
    leaves: tuple[Leaf, ...] = ()
    pair: tuple[int, str] = (1, "a")
    counts: dict[str, int] | None = None
    below: Branch | None = None
    is_last: bool = False


LEAVES = st.builds(Leaf, st.integers(), st.floats(), st.binary(max_size=4), st.text(max_size=3))
BRANCHES = st.recursive(
    st.builds(Branch, st.text()),
    lambda below: st.builds(
        Branch, st.text(), st.lists(LEAVES, max_size=3).map(tuple), st.tuples(st.integers(), st.text()),
        st.none() | st.dictionaries(st.text(), st.integers()), st.none() | below, st.booleans(),
    ),
    max_leaves=3,
)  # fmt: skip


@given(BRANCHES)
def test_what_is_written_is_what_is_read(value):
    text = json.dumps(PLAIN.encode(value))
    again = PLAIN.decode(Branch, json.loads(text))
    assert repr(again) == repr(value)  # NaN differs from itself
    assert json.dumps(PLAIN.encode(again)) == text


def test_a_field_at_its_default_is_left_out_where_it_says_so():
    assert PLAIN.encode(Leaf(1)) == {"number": 1, "share": 0.5, "data": ""}
    assert PLAIN.encode(Leaf(1, note="x"))["note"] == "x"


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ({"name": 5}, ["name: not text"]),
        ({"name": None}, ["name: not text"]),
        ({"is_last": 1}, ["is_last: not a value of its type"]),
        ({"leaves": 5}, ["leaves: not a list"]),
        ({"leaves": [{"number": 1}, {"number": True}]}, ["leaves.1.number: not a whole number"]),
        ({"leaves": [{"number": 1.0, "data": 5}]}, ["leaves.0.number: not a whole number", "leaves.0.data: not bytes"]),
        ({"leaves": [{"number": 1, "share": "1"}]}, ["leaves.0.share: not a value of its type"]),
        ({"leaves": [{}]}, ["leaves.0.number: is missing"]),
        ({"pair": [1]}, ["pair: a list of 1"]),
        ({"counts": {"a": "b"}}, ["counts.a: not a whole number"]),
        ({"below": []}, ["below: not a mapping"]),
        ({"below": {"name": "x", "pair": ["1", 1]}}, ["below.pair.0: not a whole number", "below.pair.1: not text"]),
    ],
)  # fmt: skip
def test_every_problem_is_told_with_its_place(change, problems):
    with pytest.raises(Misfit) as caught:
        PLAIN.decode(Branch, {"name": "x", **change})
    assert [str(Misfit(problem)) for problem in caught.value.problems] == problems


def test_keys_of_another_version_are_passed_over():
    assert PLAIN.decode(Leaf, {"number": 1, "weight": 2}) == Leaf(1)


def test_a_codec_of_files_knows_all_keys_and_limits():
    codec = Codec(
        least=0, ranges={(Leaf, "number"): (-1, 9)}, choices={(Leaf, "note"): ("a", "b")}, named="name", knows_all=True
    )
    assert codec.decode(Branch, {"name": "x", "leaves": [{"number": -1, "note": "a"}]}).leaves == (Leaf(-1, note="a"),)
    with pytest.raises(Misfit) as caught:
        codec.decode(Branch, {"name": "", "lefes": [], "pair": [-1, "a"], "leaves": [{"number": -2, "note": "c"}]})
    told = [(problem.path, problem.problem, problem.allowed) for problem in caught.value.problems]
    assert told == [
        (("lefes",), "unknown key", "name, leaves, pair, counts, below, is_last"),
        (("name",), "is empty", "a name"),
        (("leaves", 0, "number"), "not a whole number", "a whole number from -1 to 9"),
        (("leaves", 0, "note"), "unknown value", "a, b"),
        (("pair", 0), "not a whole number", "a whole number from 0"),
    ]


def test_what_is_preset_is_not_read():
    assert PLAIN.decode(Leaf, {"number": 7}, {"note": "x"}) == Leaf(7, note="x")
    with pytest.raises(Misfit, match="note: given on the command line"):
        Codec(knows_all=True).decode(Leaf, {"number": 7, "note": "y"}, {"note": "x"})


def test_types_in_words():
    assert describe(tuple[int, ...]) == "a list (a whole number)"
    assert describe(dict[str, int] | None) == "a mapping (a whole number) or null"
    assert describe(tuple[int, str]) == "a list of 2"
