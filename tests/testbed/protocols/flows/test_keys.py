"""Keys of flows: what a scenario file may say, and what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.plan import make_plan
from testbed.protocols.flows.keys import FlowsKeys
from testbed.scenario import dump_scenario, load_scenario, parse_scenario
from workloads.connected import ConnectedConfig
from workloads.errors import ScenarioError

TEXT = """
name: keys
world: WORLD
topology: {kind: rack, hosts: 4, link: {rate: 10Gbps}}
switch: {program: forward}
transport: {TRANSPORT}
job: {protocol: flows, JOB}
"""


def text(job: str = "load: 0.5", transport: str = "retry_count: 7", world: str = "simulated") -> str:
    return TEXT.replace("JOB", job).replace("TRANSPORT", transport).replace("WORLD", world)


@pytest.mark.parametrize(
    "job",
    [
        "load: 0.5", "load: 0.5, sizes: hadoop, duration: 2ms, warm_up: 1ms, cool_down: 500us, drain: 1ms",
        "pattern: incast, fan_in: 2, flow_size: 100kB", "pattern: all_to_all, each: 3",
        "pattern: permutation, load: 0.3, sizes: [[0, 0], [1000, 40.5], [2000, 100]]",
        "pattern: permutation, duration: 3ms, each: 2", "load: 0.5, each: 4",
    ],
)  # fmt: skip
def test_what_is_written_is_read_again(job: str) -> None:
    scenario = parse_scenario(text(job), "keys.yaml")
    assert parse_scenario(dump_scenario(scenario), "keys.yaml") == scenario
    assert scenario.worlds == ("simulated",)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"job": "sizes: irn"}, "job.load: is missing"),
        ({"job": "load: 0.5, pattern: incast"}, "flows of incast begin at once"),
        ({"job": "load: 0.5, fan_in: 3"}, "random has no such number"),
        ({"job": "load: 0.5, warm_up: 600us, cool_down: 400us"}, "nothing is left to measure"),
        ({"job": "load: 0.5, sizes: irm"}, "no such distribution of sizes; found 'irm'"),
        ({"job": "load: 0.5, sizes: [[0, 0], [10, 50]]"}, "no distribution of sizes"),
        ({"job": "load: 0.5, sizes: [1, 2]"}, "no distribution of sizes"),
        ({"job": "load: 0.5, iterations: 2"}, "flows have no such thing"),
        ({"job": "load: 0.5, straggler: {rank: 1, delay: 1ms}"}, "flows have no such thing"),
        ({"transport": "verb: send"}, "a flow is one WRITE"),
        ({"transport": "recovery: irn-held"}, "does not run over IRN"),
        ({"world": "emulated"}, "flows run in virtual time alone"),
    ],
)  # fmt: skip
def test_what_a_file_may_not_say(changes: dict[str, str], problem: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text(**changes), "keys.yaml")
    assert problem in str(caught.value)


def test_sizes_from_a_file_are_found_next_to_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("0 0\n1000 50\n5000 100\n")
    (tmp_path / "keys.yaml").write_text(text("load: 0.5, sizes: sizes.txt"))
    keys = load_scenario(str(tmp_path / "keys.yaml")).job.own
    assert isinstance(keys, FlowsKeys)
    assert keys.distribution.points == ((0, 0), (1000, 50), (5000, 100))
    for words, problem in (("0 0\n1 2\n", "holds no distribution of sizes"), (None, "no such file")):
        (tmp_path / "sizes.txt").unlink(missing_ok=True)
        if words is not None:
            (tmp_path / "sizes.txt").write_text(words)
        with pytest.raises(ScenarioError) as caught:
            load_scenario(str(tmp_path / "keys.yaml"))
        assert problem in str(caught.value)


def test_each_flow_has_queue_pairs_of_its_own_and_the_transport_of_the_file() -> None:
    transport = "recovery: irn, rto_low: 100us, rto_high: 320us, timeout: 0, congestion_control: dcqcn"
    plan = make_plan(parse_scenario(text("pattern: all_to_all, each: 2", transport), "keys.yaml"))
    pairs = [qp for worker in plan.workers if isinstance(worker, ConnectedConfig) for qp in worker.queue_pairs]
    assert len(pairs) == 2 * 2 * 12
    assert len({(qp.envelope.src_ip, qp.qpn) for qp in pairs}) == len(pairs)
    assert {(qp.recovery, qp.irn.rto_low_ns, qp.irn.rto_high_ns) for qp in pairs} == {("irn", 100_000, 320_000)}
    assert all(qp.dcqcn is not None and qp.retry7_infinite for qp in pairs)
    assert len({qp.envelope.sport for qp in pairs}) > len(pairs) // 2
    assert len(plan.connections) == 24


def test_timers_follow_from_the_queues_that_flows_can_fill() -> None:
    few, many = (
        make_plan(parse_scenario(text().replace("10Gbps}", f"10Gbps, queue: {queue}}}"), "keys.yaml"))
        for queue in (10, 1000)
    )
    assert few.scenario.transport.chosen_timeout_code < many.scenario.transport.chosen_timeout_code
