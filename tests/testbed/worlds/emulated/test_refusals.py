"""What no machine can give the emulated world is refused before anything is asked of it; no root needed."""

from dataclasses import replace

import pytest

from testbed.scenario.keys.clocks import Clocks
from testbed.worlds.emulated import EmulatedWorld
from tests.support.emulated import builder, make_rack_plan
from workloads.errors import ScenarioError


def refusal(plan, tmp_path, error):
    records = []
    with pytest.raises(error) as caught:
        EmulatedWorld(builder({})).run(plan, tmp_path / "run", records.append)
    assert records == []
    assert not list(tmp_path.iterdir())
    return str(caught.value)


def test_clocks_that_are_off_are_refused(tmp_path):
    plan = make_rack_plan()
    skewed = replace(plan, scenario=replace(plan.scenario, clocks=Clocks(offset_ns=1)))
    assert refusal(skewed, tmp_path, ScenarioError) == (
        "scenario: clocks: only the simulated world has clocks of its own; allowed: --world simulated"
    )
