"""Strategies over a fabric, in virtual time, beside what the model says."""

from __future__ import annotations

import pytest

from testbed.strategies.measure import MeasuredFabric, devices_of, measured, scenario_of
from workloads.errors import ScenarioError
from workloads.strategies import Chain, Operator, price_of

MB, MS = 1_000_000, 1_000_000
CHAIN = Chain("c", (Operator("a", 400 * MB, 200 * MB, 80 * MS), Operator("b", 900 * MB, 40 * MB, 8 * MS)))


def rack(protocol: str, *overrides: str, devices: int | None = None) -> MeasuredFabric:
    return MeasuredFabric("rack", overrides, protocol, 1000, devices)


@pytest.mark.parametrize("protocol", ["netreduce", "ring", "switchml", "atp", "esa"])
@pytest.mark.parametrize("strategy", [("DP", "MP"), ("MP", "DP"), ("DP", "DP")])
def test_what_is_measured_is_near_what_is_predicted(protocol: str, strategy: tuple[str, ...]) -> None:
    fabric = rack(protocol)
    found = measured(fabric, CHAIN, strategy)
    assert found.verdict == "pass"
    assert found.exit_code == 0
    predicted = price_of(CHAIN, strategy, devices_of(fabric, CHAIN)).time_s
    assert found.time_s == pytest.approx(predicted, rel=0.05)


def test_devices_follow_from_the_fabric() -> None:
    """1024 of 1082 bytes of a frame are payload; the slowest link of the job's hosts counts."""
    whole = devices_of(rack("netreduce", "topology.links={h4-s1: {rate: 50Mbps}}"), CHAIN)
    assert (whole.count, whole.factor) == (4, 1.0)
    assert whole.bytes_per_s == pytest.approx(50e6 / 8 * 1024 / 1082 * 1000)
    three = devices_of(rack("ring", "topology.links={h4-s1: {rate: 50Mbps}}", devices=3), CHAIN)
    assert (three.count, three.factor) == (3, pytest.approx(4 / 3))
    assert three.bytes_per_s == pytest.approx(100e6 / 8 * 1024 / 1082 * 1000)


def test_the_job_of_the_scenario_gives_way() -> None:
    scenario = scenario_of(rack("ring", "job.message_packets=8", devices=2), CHAIN, ("DP", "MP"))
    assert (scenario.job.protocol, scenario.switch.program, scenario.world) == ("staged", "forward", "simulated")
    assert (scenario.job.hosts, scenario.job.message_packets) == (("h1", "h2"), 8)
    assert scenario.job.own.splits() == ("DP", "MP")
    assert scenario.job.own.chain.operators == CHAIN.operators


def test_a_parameter_server_is_no_device() -> None:
    """A rack gets a host more for it."""
    esa = devices_of(rack("esa"), CHAIN)
    assert (esa.count, esa.factor) == (4, 1.0)
    scenario = scenario_of(rack("esa", devices=2), CHAIN, ("DP", "MP"))
    assert (scenario.job.hosts, scenario.job.server, scenario.switch.program) == (("h1", "h2"), "h5", "esa")


def test_more_devices_than_hosts() -> None:
    with pytest.raises(ScenarioError, match="--devices: more devices than hosts; found 9; allowed: at most 4, or more"):
        devices_of(rack("ring", devices=9), CHAIN)


def test_a_run_that_does_not_end_is_told() -> None:
    cut = "faults=[{kind: link_down, name: cut, links: [h2-s1], from: 1ms}]"
    found = measured(rack("netreduce", cut, "transport.timeout=10", "transport.retry_count=1"), CHAIN, ("DP", "MP"))
    assert (found.time_s, found.verdict, found.exit_code) == (None, "fail", 1)
    assert found.detail.startswith(("bit_exact: ", "exactly_once: ", "liveness: "))


def test_faults_and_losses_take_longer() -> None:
    rain = "faults=[{kind: loss, rate: 2%}]"
    clear, lossy = (measured(rack("ring", *more), CHAIN, ("DP", "DP")) for more in ((), (rain,)))
    assert clear.time_s is not None
    assert lossy.time_s is not None
    assert lossy.verdict == "pass"
    assert lossy.time_s > 1.05 * clear.time_s
