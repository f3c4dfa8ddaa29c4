"""A schedule's plan is made once for each form of it."""

from __future__ import annotations

import pytest

from testbed.hunt import plans
from testbed.hunt.draw import draw_schedule
from testbed.hunt.judge import judge_schedule
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Scenario


@pytest.mark.parametrize("kind", ["grid", "atp"])
def test_no_scenario_is_planned_twice(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    asked: list[Scenario] = []

    def counted(scenario: Scenario) -> Plan:
        asked.append(scenario)
        return make_plan(scenario)

    monkeypatch.setattr(plans, "make_plan", counted)
    for number in range(3):
        failure, _ = judge_schedule(draw_schedule(7, number, program=kind, kind=kind))
        assert failure is None
    assert len(asked) >= 3
    assert [scenario for at, scenario in enumerate(asked) if any(scenario is other for other in asked[:at])] == []
