import pytest

from tests.support.fake_fabric import FakeVerbs, worker_config
from workloads.collectives.lengths import message_packets
from workloads.collectives.netreduce import NetReduceCollective
from workloads.collectives.registry import create_collective
from workloads.collectives.ring import RingCollective
from workloads.errors import ScenarioError


@pytest.mark.parametrize(
    ("kind", "made"), [("netreduce", NetReduceCollective), ("shift", NetReduceCollective), ("ring", RingCollective)]
)
def test_each_name_makes_its_collective(kind, made):
    assert type(create_collective(worker_config(0, 2, kind=kind), FakeVerbs(), 100, 1)) is made


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
        "scenario: job.protocol: no ring is of that kind, and the worker's configuration has no phases; found "
        "rings; allowed: "
        "netreduce, ring, ring_reduce_scatter, ring_all_gather, shift; any other with the phases of a plan"
    )
