from __future__ import annotations

import pytest

from workloads.errors import HostCapabilityError, LabError, ScenarioError, TestbedError


def test_the_base_is_never_raised_itself() -> None:
    with pytest.raises(TypeError, match="who is to blame"):
        TestbedError("x")


def test_a_scenario_error_says_where_what_and_what_is_allowed() -> None:
    error = ScenarioError(
        "not a rate", file="a.yaml", key="topology.link.rate", line=7, found="'10'", allowed="100Mbps"
    )
    assert str(error) == "a.yaml:7: topology.link.rate: not a rate; found '10'; allowed: 100Mbps"
    assert str(ScenarioError("empty")) == "scenario: empty"


def test_each_class_has_its_exit_code() -> None:
    assert ScenarioError("x").exit_code == 64
    assert HostCapabilityError("netem", "load sch_netem").exit_code == 3
    assert str(HostCapabilityError("netem", "load sch_netem")) == "this machine lacks netem; load sch_netem"
    assert LabError("fpga1", "no answer", "tail").exit_code == 75
