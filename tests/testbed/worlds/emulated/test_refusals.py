"""What no machine can give the emulated world is refused before anything is asked of it; no root needed."""

from dataclasses import replace

import pytest

from testbed.scenario.clocks import Clocks
from testbed.worlds.emulated import EmulatedWorld
from tests.support.emulated import SHAPE, builder, make_rack_plan
from workloads.errors import HostCapabilityError, ScenarioError


def refusal(plan, tmp_path, error):
    records = []
    with pytest.raises(error) as caught:
        EmulatedWorld(builder({})).run(plan, tmp_path / "run", records.append)
    assert records == []
    assert not list(tmp_path.iterdir())
    return str(caught.value)


def test_links_that_mark_are_refused_with_what_would_do_it(tmp_path):
    plan = make_rack_plan(shape=replace(SHAPE, ecn_threshold_packets=20))
    assert refusal(plan, tmp_path, HostCapabilityError) == (
        "this machine lacks a link queue that marks from a length on (topology.link.ecn_threshold, asked for on h1-s1, "
        "h2-s1): below HTB lies a pfifo of the kernel, which drops and never marks; run it with --world simulated, or mark "
        "by chance with a fault of kind ecn_mark"
    )


def test_clocks_that_are_off_are_refused(tmp_path):
    plan = make_rack_plan()
    skewed = replace(plan, scenario=replace(plan.scenario, clocks=Clocks(offset_ns=1)))
    assert refusal(skewed, tmp_path, ScenarioError) == (
        "scenario: clocks: only the simulated world has clocks of its own; allowed: --world simulated"
    )
