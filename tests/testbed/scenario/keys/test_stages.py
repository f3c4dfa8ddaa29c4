from __future__ import annotations

import pytest

from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.scenario.keys.stages import block_elements, stage_elements
from testbed.scenario.keys.transport import Transport
from workloads.strategies.stages import REDUCE, RESHARD, Stage


def test_stages_end_with_a_block_and_a_reshard_is_what_each_device_sends() -> None:
    stages = [Stage("a", REDUCE, 100, 0), Stage("b", RESHARD, 400, 0), Stage("b", REDUCE, 512, 0)]
    assert stage_elements(stages, 4, 256) == (256, 512, 512)
    assert stage_elements(stages, 4, 64) == (128, 320, 512)
    assert stage_elements(stages, 2, 1) == (100, 200, 512)


def test_a_block_is_what_a_datagram_or_message_holds() -> None:
    assert block_elements(Transport()) == 256
    assert block_elements(Transport(path_mtu=512, framing="uc", uc_packets=4)) == 512


def test_workers_hold_the_stages_in_their_order() -> None:
    """The gradient holds the last layer first: stages are layers from the last one on."""
    scenario = load_scenario("strategy-esa")
    job = scenario.jobs[0]
    assert job.stages is not None
    workload = make_plan(scenario).workers[0].workload
    compute = workload.compute
    assert compute is not None
    assert compute.in_stages
    stages = job.stages.stages(4)
    assert [layer.backward_ns for layer in reversed(compute.layers)] == [stage.compute_ns for stage in stages]
    assert [layer.elements for layer in reversed(compute.layers)] == list(stage_elements(stages, 4, 256))
    assert workload.elements == sum(layer.elements for layer in compute.layers) == job.size_bytes // 4
    assert {layer.forward_ns for layer in compute.layers} == {0}


def test_an_entry_says_how_large_its_gradient_is_in_place_of_the_jobs_stages() -> None:
    """What `job` says of stages is for the entries that say nothing else."""
    text = "job={protocol: esa, dtype: int32, server: h12, stages: {chain: vgg16, strategy: DP, divide: 9000}}"
    jobs = load_scenario("strategy-esa", [text, "jobs[0]={name: own, workers: 4}"]).jobs
    assert [job.stages is not None for job in jobs] == [True, False, False]
    assert jobs[2].size_bytes == 400_000


@pytest.mark.parametrize("uc_packets", [1, 4])
def test_over_unreliable_connections_stages_end_with_a_message(uc_packets: int) -> None:
    scenario = load_scenario(
        "switchml-uc",
        ["job={protocol: switchml, dtype: int32, stages: {chain: alexnet, strategy: DP}, window_packets: 8}",
         f"transport.uc_packets={uc_packets}"],
    )  # fmt: skip
    compute = make_plan(scenario).workers[0].workload.compute
    assert compute is not None
    assert {layer.elements % (256 * uc_packets) for layer in compute.layers} == {0}
