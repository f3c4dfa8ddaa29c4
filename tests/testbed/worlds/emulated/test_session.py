from __future__ import annotations

from testbed.plan.filters import make_filters
from testbed.scenario import load_scenario
from testbed.worlds.emulated.session import session_plan


def test_the_faults_of_a_link_between_an_open_vswitch_and_a_switch_of_ours_are_served_once() -> None:
    """In a session the first of them is a switch of ours as well."""
    fault = "{kind: loss, name: bad, links: [s1-a1-1, h1-s1], rate: 50%}"
    plan = session_plan(load_scenario("accelerator-openflow", [f"faults=[{fault}]"], world="emulated"))
    served = [
        (found.link, str(found.direction))
        for name in ("s1", "a1")
        for side in make_filters(plan, name)
        for found in side.values()
    ]
    assert sorted(served) == [("h1-s1", "down"), ("h1-s1", "up"), ("s1-a1-1", "down"), ("s1-a1-1", "up")]
