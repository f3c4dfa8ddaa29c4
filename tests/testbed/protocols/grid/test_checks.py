"""What the keys of a scenario with protocol grid must keep, and how that is said."""

from __future__ import annotations

import pytest

from testbed.scenario import load_scenario, parse_scenario
from workloads.errors import ScenarioError

GOOD = """\
name: good
topology: {kind: grid_triangle}
switch: {program: grid}
job: {protocol: grid, dtype: int32}
routing: {servers: [ps], capacity: 90Mbps, mode: paced}
"""


def problems(old: str, new: str) -> str:
    assert old in GOOD
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(GOOD.replace(old, new), "x.yaml")
    return str(caught.value)


def test_a_good_one_is_taken_and_its_server_is_the_last_host() -> None:
    scenario = parse_scenario(GOOD, "x.yaml")
    assert scenario.job.server == "ps"
    assert scenario.routing is not None
    assert (scenario.routing.mode, scenario.routing.bucket_ns) == ("paced", 10_000_000)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (GOOD[GOOD.index("routing") :], "", ("x.yaml:4: job.protocol: nothing says where gradients go; found grid "
                                            "without `routing`")),
        ("[ps]", "[ps, w8]", ("routing.servers: not the job's parameter server; found ps, w8; allowed: ps alone "
                             "(job.server)")),
        ("[ps]", "[w8]", "routing.servers: not the job's parameter server; found w8"),
        ("mode: paced", "workers: [w1, w2]", "routing.workers: not the job's hosts; found w1, w2"),
        (", dtype: int32", "", "job.dtype: float32 waits for results, one window behind, and so keeps no planned rate"),
        ("dtype: int32", "dtype: int32, copies: 2", "job.copies: a plan of gradient routes is for one job; found 2"),
        ("job: {", "transport: {aimd: false}\njob: {", ("transport.aimd: protocol grid has no such window; found "
                                                       "false")),
        ("program: grid", "program: atp", ("protocol grid does not run over program atp; allowed: switch.program: "
                                          "grid")),
        ("mode: paced", "mode: slow", "routing.mode"),
        ("mode: paced", "pace: 0", "routing.pace"),
        ("mode: paced", "on_collision: keep", "routing.on_collision"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(old: str, new: str, said: str) -> None:
    assert said in problems(old, new)


def test_long_packets_need_long_frames() -> None:
    text = GOOD + "transport: {path_mtu: 8192}\n"
    with pytest.raises(ScenarioError, match="path_mtu 8192 does not fit"):
        parse_scenario(text, "x.yaml")
    assert (
        parse_scenario(text.replace("grid_triangle}", "grid_triangle, link: {mtu: 9000}}"), "x.yaml").transport.path_mtu
        == 8192
    )


@pytest.mark.parametrize("name", ["grid", "grid-lossy", "grid-atp", "grid-geryon", "grid-link-down"])
def test_built_ins_are_of_the_same_network(name: str) -> None:
    assert load_scenario(name).topology == load_scenario("grid").topology
