"""Behaviours of a run."""

from __future__ import annotations

import pytest

from testbed.faults.events import FaultHealed, FaultMissed, FaultStruck
from testbed.history import Record
from testbed.hunt.behaviour import SOMETIMES, behaviours_of, marks_of_kind, meanings_of_kind
from testbed.hunt.search_mark import SearchMark
from testbed.hunt.transitions import steps_of_kind
from workloads.datagrams.blocks import SlotChanged
from workloads.events import CollectiveCompleted, WorkerFailed, WorkerFinished
from workloads.machine import Event


def history(*events: Event, node: str = "s1") -> list[Record]:
    return [Record(t, node, event) for t, event in enumerate(events)]


def step(state: str, cause: str) -> SlotChanged:
    return SlotChanged(0, 0, 0, 0, 0, state, cause, "done")


def hit(kind: str = "loss", fault: str = "f", psn: int = 7, occurrence: int = 1) -> FaultStruck:
    return FaultStruck(fault, kind, "virtual", "h1-s1", "up", "a>b:1", 6, psn, occurrence)


RESULT, FINISHED = CollectiveCompleted(0, "", 4, 0), WorkerFinished(1)


def test_a_step_is_named_with_the_last_fault_and_the_phase() -> None:
    met = behaviours_of(history(step("empty", "first"), hit(), step("empty", "first"), RESULT, step("empty", "first"),
                                hit("delay"), FINISHED, step("empty", "first")), {})  # fmt: skip
    assert {name for name in met if name.startswith("step")} == {
        "step slot empty/first | fault none | phase first",
        "step slot empty/first | fault loss | phase first",
        "step slot empty/first | fault loss | phase later",
        "step slot empty/first | fault delay | phase ending",
    }
    assert "event WorkerFinished | fault delay | phase ending" in met


def test_an_edge_is_of_one_node_and_one_table() -> None:
    steps = [step("empty", "first"), step("filling", "last")]
    assert "edge slot empty/first > slot filling/last" in behaviours_of(history(*steps), {})
    apart = [*history(steps[0]), *history(steps[1], node="s2")]
    assert not any(name.startswith("edge") for name in behaviours_of(apart, {}))


@pytest.mark.parametrize(
    ("mark", "events", "without"),
    [
        ("packet hit again", [hit(), hit(fault="g")], [hit(), hit()]),
        ("third attempt hit", [hit(occurrence=3)], [hit(occurrence=2)]),
        ("two kinds at once", [hit(), hit("delay")], [hit(), *[step("a", "b")] * 8, hit("delay")]),
        ("hit after a result", [RESULT, hit()], [hit(), RESULT]),
        ("hit after the end", [FINISHED, hit()], [RESULT, hit()]),
        ("failed after a result", [RESULT, WorkerFailed("x", "")], [WorkerFailed("x", "")]),
        ("healed in time", [FaultHealed("f", "s1")], [FINISHED, FaultHealed("f", "s1")]),
    ],
)
def test_marks(mark: str, events: list[Event], without: list[Event]) -> None:
    assert mark in SOMETIMES
    assert f"sometimes {mark}" in behaviours_of(history(*events), {})
    assert f"sometimes {mark}" not in behaviours_of(history(*without), {})


def test_every_mark_is_tried_here() -> None:
    (mark,) = test_marks.pytestmark  # type: ignore[attr-defined]
    tried = {row[0] for row in mark.args[1]}
    assert tried == set(SOMETIMES)


def test_a_hit_that_was_taken_back_is_no_behaviour() -> None:
    assert behaviours_of(history(FaultMissed("f", "loss", "h1-s1", "up", 1, "")), {}) == frozenset()


def test_a_mark_of_a_protocol_is_met_at_its_step() -> None:
    marks = {"late": SearchMark("a copy comes late", ("slot done/stale",))}
    assert "sometimes late" in behaviours_of(history(step("done", "stale")), marks)
    assert "sometimes late" not in behaviours_of(history(step("done", "repeat")), marks)


@pytest.mark.parametrize("kind", ["rack", "switchml", "atp", "esa"])
def test_protocols_have_marks_of_their_own(kind: str) -> None:
    own = marks_of_kind(kind)
    assert len(own) >= 4
    assert set(meanings_of_kind(kind)) == {*SOMETIMES, *own}
    assert not set(SOMETIMES) & set(own), "a mark would be counted twice"
    held, impossible = steps_of_kind("fabric" if kind == "rack" else kind)
    for name in (name for mark in own.values() for name in mark.steps):
        assert name in held
        assert name not in impossible
