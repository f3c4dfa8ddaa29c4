"""The reader of GOAL text."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.errors import ScenarioError
from workloads.traces.goal import read_goal
from workloads.traces.matching import match
from workloads.traces.model import ANY, COMPUTE, RECV, SEND

TEXT = """
num_ranks 2   // two
rank 1 { recv 9b from -1 tag -1 cpu 3 nic 0 }
/* rank 0 is
   second */
rank 0 {
  a: calc 100 cpu 2
  b: send 9b to 1 tag 7
  c: calc 5
  b requires a c irequires b c requires a
}
"""


def test_a_text() -> None:
    trace = read_goal(TEXT, "t.goal")
    first, second, third = trace.ranks[0]
    assert (first.kind, first.compute_ns, first.lane, first.name, first.line) == (COMPUTE, 100, 2, "a", 7)
    assert (second.kind, second.bytes, second.peer, second.tag, second.after) == (SEND, 9, 1, 7, (0,))
    assert (third.lane, third.after, third.after_start) == (0, (0,), (1,))
    (only,) = trace.ranks[1]
    assert (only.kind, only.peer, only.tag, only.name, only.number) == (RECV, ANY, ANY, "", 1)


def test_ranks_without_a_block_do_nothing() -> None:
    assert read_goal("num_ranks 3 rank 1 { calc 1 }", "t").ranks[0] == ()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("calc", "t:2: the text ends too early; found the end of the file; allowed: a duration in ns, 0 to "),
        ("calc x }", "t:2: not what GOAL has here; found x; allowed: a duration in ns"),
        ("calc -1 }", "t:2: not what GOAL has here; found -1; allowed: a duration in ns"),
        ("send 4 to 1 }", "t:2: not what GOAL has here; found 4; allowed: a size in bytes, as 4096b"),
        ("send 4b from 1 }", "t:2: not what GOAL has here; found from; allowed: to"),
        ("send 4b to 2 }", "t:2: not what GOAL has here; found 2; allowed: a rank, 0 to 1"),
        ("send 4b to -1 }", "t:2: not what GOAL has here; found -1; allowed: a rank, 0 to 1"),
        ("send 4b to 1 tag -1 }", "t:2: not what GOAL has here; found -1; allowed: a number for tag, 0 to "),
        (
            "send 4b to 1 cpu 0 tag 1 }",
            "t:2: not what GOAL has here; found tag; allowed: calc, send, recv, a label, or }",
        ),
        ("send 4b to 1 nic 1 }", "t:2: rank 0, node 1: hosts have one NIC; found nic 1; allowed: nic 0"),
        ("send 4b to 0 }", "t:2: rank 0, node 1: a rank does not talk to itself; found 0; allowed: another rank"),
        ("a: calc 1 a: calc 2 }", "t:2: this label is taken; found a; allowed: another label in this rank"),
        ("a requires b }", "t:2: no such label before this line; found a; allowed: a label of this rank"),
        ("a: calc 1 a needs a }", "t:2: not what GOAL has here; found needs; allowed: : or requires, irequires"),
        ("a: wait 1 }", "t:2: not what GOAL has here; found wait; allowed: calc, send, recv"),
        ("calc 1 } rank 0 { }", "t:2: this rank has a block already; found 0; allowed: one block for each rank"),
        ("calc 1 } rank 2 { }", "t:2: not what GOAL has here; found 2; allowed: a rank, 0 to 1"),
        ("calc 1 ; }", "t:2: no part of GOAL; found '; }'; allowed: words, numbers, { and } and :"),
    ],
)
def test_what_is_refused(body: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read_goal(f"num_ranks 2\nrank 0 {{ {body}", "t")
    assert str(error.value).startswith(message.replace("{ and }", "{ }"))


@pytest.mark.parametrize("text", ["", "rank 0 { }", "num_ranks 0", "num_ranks 1025", "num_ranks 99999999999999999999"])
def test_the_number_of_ranks_comes_first(text: str) -> None:
    with pytest.raises(ScenarioError):
        read_goal(text, "t")


WORDS = ("num_ranks", "rank", "{", "}", ":", "calc", "send", "recv", "to", "from", "tag", "cpu", "nic", "requires",
         "irequires", "a", "b", "0", "1", "-1", "8b", "8", "//", "\n", "/*", "*/", "\x00", "é")  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(words=st.lists(st.sampled_from(WORDS), max_size=40), cut=st.integers(0, 200))
def test_any_words_are_read_or_refused(words: list[str], cut: int) -> None:
    text = TEXT[:cut] + " ".join(words) + TEXT[cut:]
    said = "t:1: "
    try:
        read_goal(text, "t")
    except ScenarioError as error:
        said = str(error)
    assert re.match(r"t:\d+: ", said)


PARTS = re.findall(r"\s+|-?[0-9]+b?|[A-Za-z_]+|.", TEXT)
"""The text, word by word"""


def mutated(dice: Random) -> str:
    """A text with some words or characters changed, left out or doubled."""
    parts = list(PARTS) if dice.randrange(2) else list(TEXT)
    for _ in range(dice.randint(1, 3)):
        at, kind = dice.randrange(len(parts)), dice.randrange(4)
        if kind == 0:
            parts[at] = dice.choice(WORDS)
        elif kind == 1:
            parts[at] = parts[dice.randrange(len(parts))]
        elif kind == 2:
            del parts[at : at + dice.randint(1, 4)]
        else:
            parts[at:at] = parts[at : at + dice.randint(1, 8)]
    return "".join(parts)


def read_or_refused(text: str) -> str:
    """The refusal; any other exception fails the test."""
    try:
        match(read_goal(text, "t"))
    except ScenarioError as error:
        return str(error)
    return ""


def try_mutated(number: int, seed: int) -> None:
    dice = Random(seed)
    said = [read_or_refused(mutated(dice)) for _ in range(number)]
    assert not [each for each in said if not re.match("(t:.|$)", each)]
    assert len({re.sub("[0-9]+", "", each)[:40] for each in said}) > 20  # they come to different places of the reader
    assert "" in said


def test_a_mutated_text_is_read_or_refused() -> None:
    try_mutated(2_000, 1)


@pytest.mark.minutes
def test_many_mutated_texts_are_read_or_refused() -> None:
    try_mutated(100_000, 2)


def test_the_tree_of_others(oracles: Path) -> None:
    trace = read_goal((oracles / "workloads/goal/binary_tree_32.goal").read_text(), "t")
    assert len(trace.ranks) == 32
    assert sum(node.kind == SEND for nodes in trace.ranks for node in nodes) == 31
