"""Scenario files with jobs of several collectives."""

from __future__ import annotations

import pytest

from testbed.reading.problems import Place, Problems
from testbed.scenario import InvalidScenario, Scenario, dump_scenario, load_scenario, parse_scenario
from testbed.scenario.keys.beside import PLAIN

pytestmark = pytest.mark.protocols("dlcp", "ring")
_FILE = """\
name: three
world: simulated
topology: {kind: rack, hosts: 9}
switch: {program: atp, memory: 64}
job: {protocol: atp, server: h5, size: 8kB}
jobs:
  - {name: left, hosts: [h1, h2]}
  - {name: right, hosts: [h3, h4]}
beside:
  - job: {protocol: ring, hosts: [h6, h7], size: 12kB}
    transport: {recovery: irn, path_mtu: 512}
  - job: {protocol: dlcp, over: ps, dtype: int32}
    jobs:
      - {name: bounded, hosts: [h8, h9], size: 16kB}
"""


def _three(*overrides: str, seed: int = 1) -> Scenario:
    return parse_scenario(_FILE, "x.yaml", overrides, seed=seed)


def test_a_file_without_other_collectives_is_its_only_part() -> None:
    scenario = load_scenario("atp-two-jobs")
    assert scenario.parts == (scenario,)


def test_each_collective_is_a_scenario_of_its_own() -> None:
    scenario = _three()
    first, ring, dlcp = scenario.parts
    assert [part.job.protocol for part in scenario.parts] == ["atp", "ring", "dlcp"]
    assert [[host.name for host in part.ranks] for part in scenario.parts] == [
        ["h1", "h2", "h3", "h4"], ["h6", "h7"], ["h8", "h9"],
    ]  # fmt: skip
    assert (first.switch, first.transport, first.jobs) == (scenario.switch, scenario.transport, scenario.jobs)
    assert (ring.switch, dlcp.switch) == (PLAIN, PLAIN)
    assert (ring.transport.recovery, ring.transport.path_mtu) == ("irn", 512)
    assert dlcp.transport.path_mtu == 1024
    assert [part.all_jobs[0].size_bytes for part in scenario.parts] == [8000, 12000, 16000]
    assert all(part.topology == scenario.topology and not part.beside for part in scenario.parts)


def test_ids_of_jobs_count_on_so_that_no_switch_takes_one_for_another() -> None:
    numbers = [job.number for part in _three("jobs.right.id=7").parts for job in part.all_jobs]
    assert numbers == [1, 7, 8, 9]


def test_no_two_collectives_draw_from_one_seed() -> None:
    assert len({part.seed for part in _three().parts}) == 3
    assert _three().parts[0].seed == 1
    assert all(0 <= part.seed < 1 << 63 for part in _three(seed=(1 << 63) - 1).parts)


def test_a_resolved_file_is_the_same_scenario_and_says_nothing_of_foreign_keys() -> None:
    text = dump_scenario(_three())
    assert parse_scenario(text, "x.yaml") == _three()
    ring = text.partition("protocol: ring")[2].partition("protocol: dlcp")[0]
    assert "message_packets" in ring
    assert "rto:" not in ring
    assert "window_packets" not in ring


def test_a_key_of_a_collective_can_be_changed_on_the_command_line() -> None:
    assert _three("beside.0.job.size=40kB").parts[1].job.size_bytes == 40_000


def test_a_fault_need_strike_what_one_of_them_sends_alone() -> None:
    fault = "[{kind: drop, name: one, links: all, match: {opcode: data, message: 0}}]"
    assert _three(f"faults={fault}").faults[0].name == "one"
    with pytest.raises(InvalidScenario, match="atp sends no RoCE packets"):
        _three(f"faults={fault}", "beside=[{job: {protocol: dlcp, hosts: [h6, h7]}}]")


def test_a_node_fault_may_meet_a_host_of_any_of_them() -> None:
    assert _three("faults=[{kind: pause, name: p, node: h7, from: 1ms, until: 2ms}]").faults
    with pytest.raises(InvalidScenario, match="no job runs on that host"):
        _three("faults=[{kind: pause, name: p, node: h10, from: 1ms, until: 2ms}]", "topology.hosts=10")


def test_staged_all_reduces_that_a_switch_would_sum_are_refused_beside_others() -> None:
    with pytest.raises(InvalidScenario, match=r"beside\[0\]\.job"):
        _three("beside=[{job: {protocol: staged, all_reduce: netreduce, hosts: [h6, h7]}}]")


class TestInside:
    """`Problems.inside`."""

    def _told(self, *path: str | int) -> str:
        places = {("a",): Place("f", 1), ("a", 0): Place("f", 2), ("a", 0, "b"): Place("f", 3)}
        problems = Problems("f", places)
        inside = problems.inside(("a", 0), outside=("top",), instead={"gone": ("b",)})
        assert not inside
        inside.add(path, "wrong")
        assert len(inside) == len(problems) == 1
        return str(problems.as_error())

    def test_a_problem_is_told_at_its_place_in_the_file(self) -> None:
        assert self._told("b") == "f:3: a[0].b: wrong"
        assert self._told("c") == "f:2: a[0].c: wrong"
        assert self._told() == "f:2: a[0]: wrong"

    def test_what_stands_elsewhere_is_told_there(self) -> None:
        assert self._told("top", "x") == "f: top.x: wrong"

    def test_what_stands_nowhere_is_told_at_what_stands_for_it(self) -> None:
        assert self._told("gone", "x") == "f:3: a[0].b: wrong"

    def test_what_is_written_inside_is_known_by_its_own_place(self) -> None:
        inside = Problems("f", {("a", 0, "b"): Place("f", 3)}).inside(("a", 0))
        assert ("b",) in inside.places
        assert inside.place(("b", "c")) == Place("f", 3)
