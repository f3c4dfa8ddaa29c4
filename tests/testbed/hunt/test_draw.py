"""What is drawn: pure in (seed, number), files that load, trouble that ends."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from testbed.faults.healing import kind_of
from testbed.faults.kinds import FAULT_KINDS
from testbed.faults.model import Corrupt, Forge, Kill, Loss, Pause
from testbed.hunt.draw import TRACE_EVERY, draw_schedule
from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.hunt.draw_faults import _fits, is_sensible
from testbed.hunt.plans import with_timers
from testbed.hunt.recipes import RECIPES
from testbed.hunt.survival import may_fail, unsurvivable
from testbed.scenario import dump_scenario, load_scenario, parse_scenario
from tests.support.drawn import Drawn
from topologies import Direction

MANY = Drawn(600, lambda number: draw_schedule(5, number).scenario)


def test_a_schedule_is_a_function_of_seed_and_number_in_any_process():
    code = (
        "from testbed.hunt.draw import draw_schedule\nfrom testbed.scenario import dump_scenario\n"
        "print(dump_scenario(draw_schedule(5, 77).scenario), end='')"
    )
    for hash_seed in ("1", "2"):
        env = {"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin"}
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
        assert out.stdout == dump_scenario(MANY[77])
    assert draw_schedule(6, 77).scenario != MANY[77] != draw_schedule(5, 78).scenario


@pytest.mark.parametrize("kind", [RACK, FABRIC, "ring"])
def test_no_damage_meets_damage_on_a_way(kind):
    """Else the same bit flips back now and then: what a switch passed on damaged, a host heeds."""
    program, several = "forward" if kind == "ring" else "netreduce", 0
    for number in range(600):
        scenario = draw_schedule(3, number, None, program, kind).scenario
        hosts = {host.name for host in scenario.topology.hosts}
        damage = [fault for fault in scenario.faults if isinstance(fault, Corrupt)]
        several += len(damage) > 1
        directions = {direction for fault in damage for direction in fault.directions}
        links = [scenario.topology.link(name) for name in {name for fault in damage for name in fault.links}]
        assert len(directions) <= 1
        assert len(links) <= 1 or all(hosts & {link.a, link.b} for link in links)
    assert several


def test_every_drawn_schedule_is_a_scenario_file():
    for scenario in MANY[:250]:
        assert parse_scenario(dump_scenario(scenario), "drawn") == scenario


@pytest.mark.parametrize(
    "hosts", ["{kind: rack, hosts: 4}", "{kind: spine_leaf, leaves: 2, spines: 1, hosts_per_leaf: 2}"]
)
@pytest.mark.parametrize("recipe", dict.fromkeys(RECIPES), ids=lambda recipe: recipe.__name__)
def test_so_is_every_recipe_under_irn(recipe, hosts):
    calm = parse_scenario(f"name: calm\ntopology: {hosts}\njob: {{size: 4kB}}\ntransport: {{recovery: irn}}\n", "calm")
    for number in range(20):
        cooked = recipe(Random(number), with_timers(calm))
        assert cooked.transport.recovery == "irn"
        if is_sensible(cooked):
            parse_scenario(dump_scenario(cooked), "cooked")


def test_so_it_is_where_some_hosts_have_nothing_to_do():
    """Nothing may be killed that nobody would miss."""
    base = parse_scenario(
        "name: two\ntopology: {kind: rack, hosts: 6}\njob: {hosts: [h1, h2], size: 4kB}\n", "two.yaml"
    )
    nodes = set()
    for number in range(120):
        drawn = draw_schedule(5, number, base).scenario
        assert parse_scenario(dump_scenario(drawn), "drawn") == drawn
        nodes |= {fault.node for fault in drawn.faults if isinstance(fault, Kill | Pause)}
    assert {"h1", "h2", "s1"} >= nodes > set()


def test_what_need_not_survive_says_why_and_the_rest_is_survivable():
    reasons = Counter(may_fail(scenario) for scenario in MANY)
    assert reasons[None] > 450
    assert len(reasons) == 5
    for scenario in MANY:
        assert may_fail(scenario) or unsurvivable(scenario) is None


def test_gradients_are_ordinary_extreme_or_special_and_senders_meet_receivers_that_are_late():
    drawn = Counter(scenario.job.workload for scenario in MANY)
    assert set(drawn) == {"synthetic", "extreme", "special"}
    assert min(drawn["synthetic"], drawn["special"]) > 180
    assert Counter((one.job.workload, one.job.dtype) for one in MANY)["special", "float32"] > 60
    assert sum(scenario.transport.receive_late_ns > 0 for scenario in MANY) > 50


def test_the_whole_vocabulary_is_drawn_and_no_damage_is_made_genuine():
    faults = [fault for scenario in MANY for fault in scenario.faults]
    assert {kind_of(fault) for fault in faults} == FAULT_KINDS.keys() - {"pause_storm"}  # which needs PFC
    assert not any(fault.repair_icrc for fault in faults if isinstance(fault, Corrupt))
    for count in range(2, 9):
        assert any(len(scenario.topology.hosts) == count for scenario in MANY)
    assert {scenario.trace for scenario in MANY[::TRACE_EVERY]} == {True}
    assert not any(scenario.trace for number, scenario in enumerate(MANY) if number % TRACE_EVERY)


def test_with_pfc_only_faults_that_it_can_follow_are_drawn():
    base = with_timers(load_scenario("pfc-slots"))
    drawn = [draw_schedule(1, number, base).scenario for number in range(200)]
    faults = [fault for scenario in drawn for fault in scenario.faults]
    assert not any(kind_of(fault) == "rate_change" for fault in faults)
    stopped = {fault.node for fault in faults if isinstance(fault, Pause | Kill)}
    assert stopped
    assert stopped <= {host.name for host in base.topology.hosts}
    for scenario in drawn:
        parse_scenario(dump_scenario(scenario), "drawn.yaml")


def test_around_a_scenario_jobs_have_time_to_recover():
    short, long = (load_scenario("psn-wrap", [f"time_limit={limit}"], world="simulated") for limit in ("1s", "90s"))
    limits = [draw_schedule(1, 1, with_timers(base)).scenario.time_limit_ns for base in (short, long)]
    assert limits == [60_000_000_000, 90_000_000_000]


def test_around_a_scenario_only_faults_and_seed_are_drawn():
    base = with_timers(load_scenario("psn-wrap", world="simulated"))
    drawn = [draw_schedule(1, number, base).scenario for number in range(1, 30)]
    assert {(s.topology, s.job, s.transport, s.switch) for s in drawn} == {
        (base.topology, base.job, base.transport, base.switch)
    }
    assert len({s.seed for s in drawn}) == 29
    assert sum(bool(s.faults) for s in drawn) > 15


@pytest.mark.parametrize("number", range(0, 600, 97))
def test_faults_have_names_of_their_own(number):
    names = [fault.name for fault in MANY[number].faults]
    assert len(names) == len(set(names))


def test_without_a_hello_nobody_forges_plain_messages_on_their_way_to_the_switch():
    """The switch would take a connection that it does not know for a plain one, and pass what follows on raw."""
    for scenario in (s for s in MANY if not s.job.hello):
        for fault in (f for f in scenario.faults if isinstance(f, Forge)):
            assert (
                fault.what not in ("restarted", "old_plain") or Direction.UP not in fault.directions or scenario.trace
            )
    forged = Forge("f", ("h1-s1",), (Direction.UP,), what="restarted")
    base = next(s for s in MANY if s.job.hello and not s.faults)
    assert _fits(base, forged)
    assert not _fits(replace(base, job=replace(base.job, hello=False)), forged)
    assert not _fits(replace(base, faults=(Loss("l", ("h1-s1",)),)), forged)


@pytest.mark.parametrize("kind", ["rack", "fabric"])
@pytest.mark.parametrize("recovery", ["gbn", "irn"])
def test_the_recovery_may_be_fixed_and_changes_nothing_else(recovery: str, kind: str) -> None:
    for number in range(40):
        drawn = draw_schedule(5, number, kind=kind).scenario
        fixed = draw_schedule(5, number, kind=kind, recovery=recovery).scenario
        assert fixed.transport.recovery == recovery
        if drawn.transport.recovery == recovery:
            assert fixed == drawn
        assert fixed.seed == drawn.seed
        assert number % TRACE_EVERY == 0 or fixed.topology == drawn.topology, "unless a recipe wants another"
