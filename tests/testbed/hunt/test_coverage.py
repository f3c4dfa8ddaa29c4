from __future__ import annotations

from typing import Any

from testbed.hunt.coverage import Coverage
from testbed.hunt.draw import draw_schedule
from testbed.hunt.summary import hunt_document, summary_text
from testbed.scenario import parse_scenario
from tests.support.records import a_record


def told(event: str, kind: str, **more: Any) -> dict[str, Any]:
    return a_record(0, "s1", event, fault="f", kind=kind, **more)


def test_strikes_that_changed_nothing_do_not_count() -> None:
    coverage = Coverage()
    history = [
        told("FaultStruck", "reorder"), told("FaultStruck", "reorder"), told("FaultStruck", "pause"),
        told("FaultStruck", "loss"),
        told("FaultMissed", "reorder", strikes=1), told("FaultMissed", "pause", strikes=1),
    ]  # fmt: skip
    coverage.add(draw_schedule(1, 1).scenario, history)
    assert coverage.strikes == {"reorder": 1, "loss": 1}
    assert coverage.struck == {"reorder": 1, "loss": 1}


def test_who_did_not_finish_is_either_allowed_to_or_not() -> None:
    scenario = parse_scenario("name: x\ntopology: {kind: rack, hosts: 2}\njob: {size: 4kB}\n", "x.yaml")
    broken = Coverage()
    broken.add(scenario, [])
    assert (broken.schedules, broken.completed, broken.told) == (1, 0, {})
    document = hunt_document("Hunt", 1, 1, broken, {}, None)
    text = summary_text(document)
    assert "1 did not finish, and nothing in its schedule allows that" in text
    assert "as they may" not in text
