"""Parts add up to the job completion time in every built-in scenario that virtual time can run."""

from __future__ import annotations

import pytest

from testbed.faults.kinds import record_of
from testbed.jct import JctPart
from testbed.scenario import builtin_names, load_scenario
from testbed.scenario.model import Scenario
from tests.support.parts import assert_sums, with_parts
from workloads.errors import ScenarioError

_ONLY_EMULATED = {"accelerator-openflow", "congested-tcp"}
_DO_NOT_FINISH = {"pfc-storm", "pfc-deadlock", "pfc-slots-deadlock", "dead-link", "straggler-too-late", "worker-killed"}
_ARRIVE_LATER = {"jobs-8", "jobs-64", "jobs-mix"}


def _small(name: str) -> Scenario:
    """With 30 kB for each worker, if the scenario gives a size."""
    try:
        return load_scenario(name, ["job.size=30kB"], world="simulated")
    except ScenarioError:
        return load_scenario(name, world="simulated")


@pytest.mark.parametrize("name", [name for name in builtin_names() if name not in _ONLY_EMULATED])
def test_parts_add_up(name: str) -> None:
    scenario = _small(name)
    context, parts = with_parts(scenario)
    if parts.unknown:
        assert (name in _DO_NOT_FINISH, parts.unknown) == (True, "not all workers finished")
        return
    assert_sums(context, parts)
    # Where the network makes copies or changes the order, it is not known exactly when a host got a frame.
    if not any(record_of(fault).makes_copies or record_of(fault).is_overtaken for fault in scenario.faults):
        assert not any(own[JctPart.OTHER] for own in parts.workers.values())
        assert name in _ARRIVE_LATER or not parts.path[JctPart.OTHER]
