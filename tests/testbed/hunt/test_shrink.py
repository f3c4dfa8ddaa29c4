"""Shrinking ends, keeps the failure, and leaves nothing that could be left out."""

from __future__ import annotations

from dataclasses import replace

from testbed.faults.model import Drop, Loss
from testbed.hunt.draw import draw_schedule
from testbed.hunt.judge import run_and_judge
from testbed.hunt.shrink import shrink, simpler
from testbed.hunt.survival import may_fail, unsurvivable
from testbed.plan import make_plan
from testbed.scenario import dump_scenario, load_scenario, parse_scenario
from tests.support.hunt_mutants import PLANTED


def test_every_step_is_another_scenario_and_no_chain_of_steps_comes_back():
    for number in range(40):
        scenario = draw_schedule(2, number).scenario
        assert scenario not in list(simpler(scenario))
    seen, scenario = [], draw_schedule(2, 7).scenario
    while (following := next(simpler(scenario), None)) is not None:
        assert following not in seen
        seen.append(following)
        scenario = following
    assert len(seen) < 100


def test_what_is_left_is_minimal_for_a_made_up_failure():
    """Fails with three hosts and a loss on the second link: nothing else may stay."""
    scenario = next(
        drawn
        for drawn in (draw_schedule(4, number).scenario for number in range(500))
        if len(drawn.faults) >= 3
        and len(drawn.topology.hosts) > 4
        and any(isinstance(fault, Loss) and "h2-s1" in fault.links for fault in drawn.faults)
    )

    def fails(candidate):
        losses = [fault for fault in candidate.faults if isinstance(fault, Loss)]
        return len(candidate.topology.hosts) >= 3 and any("h2-s1" in fault.links for fault in losses)

    shrunk = shrink(scenario, fails)
    assert shrunk.minimal
    assert len(shrunk.scenario.topology.hosts) == 3
    (fault,) = shrunk.scenario.faults
    assert isinstance(fault, Loss)
    assert fault.links == ("h2-s1",)
    assert shrunk.scenario.job.size_bytes == 4
    assert not any(fails(candidate) and _may_stand(candidate, scenario) for candidate in simpler(shrunk.scenario))


def test_gradients_become_ordinary():
    scenario = next(
        drawn for number in range(50) if (drawn := draw_schedule(4, number).scenario).job.workload == "special"
    )
    shrunk = shrink(scenario, lambda candidate: True)
    assert shrunk.scenario.job.workload == "synthetic"


def _may_stand(candidate, scenario):
    if may_fail(scenario) is None:
        return may_fail(candidate) is None and unsurvivable(candidate) is None
    return True


def test_a_planted_bug_shrinks_to_one_fault_that_still_breaks_the_same_rule():
    machines = PLANTED["NoReplay"]
    scenario, check = next(
        (drawn, failure.check)
        for drawn in (draw_schedule(1, number).scenario for number in range(50))
        if (failure := run_and_judge(drawn, machines)[0]) is not None
    )

    def still_fails(candidate):
        failure, _ = run_and_judge(candidate, machines)
        return failure is not None and failure.check == check

    shrunk = shrink(scenario, still_fails)
    assert shrunk.minimal
    assert len(shrunk.scenario.faults) == 1
    assert len(shrunk.scenario.topology.hosts) == 2
    assert still_fails(shrunk.scenario)
    assert parse_scenario(dump_scenario(shrunk.scenario), "shrunk") == shrunk.scenario
    assert run_and_judge(shrunk.scenario)[0] is None
    assert not any(still_fails(candidate) for candidate in simpler(shrunk.scenario) if _may_stand(candidate, scenario))


def test_the_search_ends_at_its_limit():
    scenario = replace(draw_schedule(2, 7).scenario, faults=(Drop("d", ("h1-s1",)),))
    shrunk = shrink(scenario, lambda candidate: False, most=3)
    assert (shrunk.scenario, shrunk.tries, shrunk.minimal) == (scenario, 3, False)


def test_what_names_hosts_that_are_gone_goes_with_them():
    """Other tenants' flows, slow receivers and named hosts of the job: every step can be planned and loaded again."""
    base = load_scenario("pfc-netreduce")
    assert base.pfc is not None
    base = replace(base, pfc=replace(base.pfc, receivers=(("h2", 10**7), ("h6", 10**7))))
    sizes = set()
    for candidate in simpler(base):
        names = {host.name for host in candidate.topology.hosts}
        sizes.add(len(names))
        assert {name for flow in candidate.background for name in (flow.source, flow.target)} <= names
        assert {name for name, _ in candidate.pfc.receivers} <= names
        assert set(candidate.job.hosts) <= names
        make_plan(candidate)
        assert parse_scenario(dump_scenario(candidate), "shrunk") == candidate
    assert sizes == {2, 3, 5, 6}
    assert all(
        len(candidate.job.hosts) >= 2 for candidate in simpler(replace(base, job=replace(base.job, hosts=("h1", "h6"))))
    )
