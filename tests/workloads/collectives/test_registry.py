import pytest

from tests.support.fake_fabric import FakeVerbs, worker_config
from workloads.collectives.netreduce import NetReduceCollective
from workloads.collectives.registry import create_collective, message_packets
from workloads.collectives.ring import RingCollective
from workloads.errors import ScenarioError


@pytest.mark.parametrize(
    ("kind", "made"), [("netreduce", NetReduceCollective), ("shift", NetReduceCollective), ("ring", RingCollective)]
)
def test_each_name_makes_its_collective(kind, made):
    assert type(create_collective(worker_config(0, 2, kind=kind), FakeVerbs(), 100, 1)) is made


def test_packets_by_name():
    config = worker_config(0, 2, kind="shift", message_packets=2).collective
    assert message_packets(config, 200, 1, 256) == (1, 2, 2)
    assert message_packets(worker_config(0, 2, kind="ring").collective, 128, 1, 256) == (1, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: create_collective(worker_config(0, 2, kind="rings"), FakeVerbs(), 1, 1),
        lambda: message_packets(worker_config(0, 2, kind="rings").collective, 1, 1, 256),
    ],
)
def test_an_unknown_name(call):
    with pytest.raises(ScenarioError) as caught:
        call()
    assert str(caught.value) == (
        "scenario: job.collective: unknown collective; found rings; allowed: ring, netreduce, parallel_netreduce, "
        "rabenseifner, recursive_doubling, shift, staged, tencent"
    )


def test_a_collective_of_phases_has_no_connection_of_its_own():
    with pytest.raises(ScenarioError, match="collective tencent has no connection of its own: ask for its phases'"):
        message_packets(worker_config(0, 2, kind="tencent").collective, 1, 1, 256)
    assert message_packets(worker_config(0, 2, kind="all_gather").collective, 128, 1, 256) == (1,)
