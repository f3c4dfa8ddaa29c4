"""From jobs of a scenario to what workers and switch are told."""

from dataclasses import replace

import pytest

from testbed.plan import make_plan
from testbed.plan.jobs import communication_ns, plan_jobs
from testbed.scenario import Scenario, load_scenario, parse_scenario
from workloads.models import create_model, scaled_layers
from workloads.switchml import SwitchMlConfig

TEXT = """name: three
topology: {kind: rack, hosts: 8, link: {rate: 20Mbps}, links: {h4-s1: {rate: 10Mbps}}}
switch: {program: switchml, memory: 30}
transport: {path_mtu: 256}
job: {protocol: switchml, window_packets: 9}
jobs:
  - {workers: 3, size: 4kB}
  - {id: 40, hosts: [h8, h4], model: alexnet, scale: 50000, compute: {ratio: 3}, straggler: {rank: 1, delay: 2ms, slowdown: 1.5}}
  - {workers: 2, size: 512B, compute: {forward: 1ms, backward: 3ms, jitter: 5%}, arrival: 7ms}
"""  # noqa: E501


def scenario(*changes: str) -> Scenario:
    return parse_scenario(TEXT, "three.yaml", changes)


def workers(group: int, *changes: str) -> tuple[SwitchMlConfig, ...]:
    found = make_plan(scenario(*changes)).groups[group]
    assert all(isinstance(worker, SwitchMlConfig) for worker in found)
    return found  # type: ignore[return-value]


def test_every_job_has_its_hosts_its_id_and_an_equal_part_of_the_pool():
    plan = make_plan(scenario())
    assert [(group, [worker.name for worker in own]) for group, own in plan.groups.items()] == [
        (1, ["h1", "h2", "h3"]),
        (40, ["h8", "h4"]),
        (3, ["h5", "h6"]),
    ]
    (switch,) = plan.switches
    assert [(job.job, len(job.members), job.first_slot, job.slots) for job in switch.jobs] == [
        (1, 3, 0, 5),
        (40, 2, 5, 5),
        (3, 2, 10, 5),
    ]
    assert [member.port for member in switch.jobs[1].members] == [7, 3]
    assert [(worker.first_slot, worker.window) for worker in plan.workers][::3] == [(0, 5), (5, 5), (10, 2)]
    assert {worker.collective.size for worker in plan.groups[40]} == {2}


def test_gradients_of_jobs_differ_and_do_not_depend_on_their_place():
    seeds = [own[0].workload.seed for own in make_plan(scenario()).groups.values()]
    assert len(set(seeds)) == 3
    assert workers(1, "jobs[0].seed_offset=2")[0].workload.seed == seeds[2]


def test_layers_become_packets_and_times():
    first, second = workers(40)
    sizes = scaled_layers(create_model("alexnet"), 50_000, 64)
    assert first.workload.compute is not None
    assert tuple(layer.elements for layer in first.workload.compute.layers) == sizes
    assert first.workload.elements == sum(sizes)
    alone = communication_ns(scenario(), plan_jobs(scenario())[1].hosts, sum(sizes))
    takes = [layer.forward_ns for layer in first.workload.compute.layers]
    back = [layer.backward_ns for layer in first.workload.compute.layers]
    assert sum(takes) + sum(back) == 3 * alone
    assert sum(back) == pytest.approx(2 * sum(takes), rel=1e-6)
    assert (first.workload.compute.slowdown, first.workload.straggle_ns) == (1.0, 0)
    assert second.workload.compute == replace(first.workload.compute, slowdown=1.5)
    assert second.workload.straggle_ns == 2_000_000


def test_a_gradient_alone_on_the_slowest_link_of_its_hosts():
    """2 full packets of 338 bytes and one of 82 + 4 at 10 Mbit/s."""
    hosts = plan_jobs(scenario())[1].hosts
    assert communication_ns(scenario(), hosts, 129) == (2 * 338 + 86) * 800
    assert communication_ns(scenario(), hosts[:1], 128) == 2 * 338 * 400


@pytest.mark.parametrize(("packets", "messages"), [(1, 3), (2, 2), (3, 1)])
def test_messages_alone_on_the_slowest_link_of_its_hosts(packets: int, messages: int):
    """3 packets, each with 58 bytes of headers and iCRC, and 20 more in one of each message."""
    over_uc = scenario("transport.framing=uc", f"transport.uc_packets={packets}")
    hosts = plan_jobs(over_uc)[1].hosts
    assert communication_ns(over_uc, hosts, 129) == (4 * 129 + 3 * 58 + messages * 20) * 800


def test_jobs_over_unreliable_connections():
    """The 30 values are 10 messages, 5 indices with their shadow copies: one for each job; a block is 3 packets."""
    changes = "transport.framing=uc", "transport.uc_packets=3"
    plan = make_plan(scenario(*changes))
    (switch,) = plan.switches
    assert switch.memory == 10
    assert [(job.job, job.first_slot, job.slots, job.elements) for job in switch.jobs] == [
        (1, 0, 1, 192),
        (40, 1, 1, 192),
        (3, 2, 1, 192),
    ]
    for job in switch.jobs:
        assert [member.uc for member in job.members] == [worker.uc for worker in workers(job.job, *changes)]
    assert [(c.rank, c.requests[2] & 0xFFFF) for c in plan.connections] == [
        (0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (0, 2), (1, 2),
    ]  # fmt: skip


def test_each_job_has_its_own_window_of_messages():
    changes = "transport.framing=uc", "transport.uc_packets=2", "switch.memory=600", "jobs[1].window_packets=5"
    found = [workers(group, *changes)[0].window for group in (1, 40, 3)]
    assert found == [4, 2, 1]


def test_times_that_are_given_and_when_the_job_comes():
    first, _ = workers(3)
    assert first.workload.compute is not None
    (layer,) = first.workload.compute.layers
    assert (layer.elements, layer.forward_ns, layer.backward_ns) == (128, 1_000_000, 3_000_000)
    assert (first.workload.compute.jitter, first.workload.arrival_ns) == (0.05, 7_000_000)
    assert workers(1)[0].workload.compute is None


def test_measured_layers_keep_their_times_whatever_the_scale():
    layers = (
        "[{layer: a, elements: 6400, forward: 1ms, backward: 2ms}, {layer: b, elements: 64, forward: 3ms, backward: "
        "4ms}]"
    )
    (first, *_) = workers(3, "jobs[2]={workers: 2, scale: 10, layers: " + layers + "}")
    assert first.workload.compute is not None
    told = [(layer.elements, layer.forward_ns, layer.backward_ns) for layer in first.workload.compute.layers]
    assert told == [(640, 1_000_000, 2_000_000), (64, 3_000_000, 4_000_000)]


def test_the_last_digest_waits_in_real_time() -> None:
    """At a dilation of 6,000 a tenth of a second of emulated time is ten minutes."""
    for dilation, delay_ns in (("1", 100_000_000), ("50", 2_000_000)):
        workloads = {job.workloads[0].digest_delay_ns for job in plan_jobs(scenario(f"dilation={dilation}"))}
        assert workloads == {delay_ns}


@pytest.mark.parametrize(
    ("world", "changes", "ahead"),
    [
        ("emulated", ["job.iterations=3"], 2),
        ("emulated", ["job.iterations=3", "job.size=5MB"], 1),
        ("emulated", ["job.iterations=1"], 0),
        ("emulated", ["job.iterations=3", "job.workload=digits"], 0),
        ("simulated", ["job.iterations=3"], 0),
    ],
)
def test_gradients_are_drawn_ahead_where_that_takes_time(world: str, changes: list[str], ahead: int) -> None:
    (job,) = plan_jobs(load_scenario("demo" if "job.workload=digits" in changes else "rack", changes, world=world))
    assert {workload.drawn_ahead for workload in job.workloads} == {ahead}
