"""Rules between sections end where a section is not known, and other rules go on."""

from __future__ import annotations

import pytest

from testbed.reading.known import NotKnown
from testbed.reading.problems import Problems
from testbed.scenario import load_scenario, parse_scenario
from testbed.scenario.checks.contract import scenario_protocol
from testbed.scenario.checks.sections import KnownSections
from workloads.errors import ScenarioError


def sections(name: str, **missing: None) -> KnownSections:
    scenario = load_scenario(name)
    known = {
        "maybe_topology": scenario.topology, "maybe_link": scenario.link, "maybe_switch": scenario.switch,
        "maybe_transport": scenario.transport,
    }  # fmt: skip
    return KnownSections(
        problems=Problems("x", {}), job=scenario.job, entries=(), nics=(("h1", "rxe0"),), routing=None,
        **known | missing,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["topology", "link", "switch", "transport"])
def test_a_section_that_is_not_known_ends_a_check(name: str) -> None:
    assert getattr(sections("rack"), name) == getattr(load_scenario("rack"), name)
    with pytest.raises(NotKnown):
        getattr(sections("rack", **{f"maybe_{name}": None}), name)


@pytest.mark.protocols("grid")
def test_the_rules_behind_one_that_ends_are_tried_too() -> None:
    """Of GRID, the first asks for the transport, the second does not: it misses the section `routing`."""
    found = sections("grid", maybe_transport=None)
    scenario_protocol("grid").check(found)
    assert found.problems


@pytest.mark.protocols("rabenseifner")
def test_a_protocol_s_own_rule_comes_in_addition_to_those_of_its_kind() -> None:
    with pytest.raises(ScenarioError, match="leaves each rank a part of the gradient to sum"):
        parse_scenario(
            "name: x\nworld: simulated\ntopology: {kind: rack, hosts: 4, link: {rate: 1Gbps}}\n"
            "switch: {program: forward}\njob: {protocol: rabenseifner, size: 8B}\n",
            "x.yaml",
        )
    found = sections("rack")
    scenario_protocol("rabenseifner").check(found)
    assert found.problems, "a worker on an RDMA device has one ring"
