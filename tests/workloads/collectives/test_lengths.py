import pytest

from tests.support.fake_fabric import worker_config
from workloads.collectives.lengths import message_packets
from workloads.errors import ScenarioError


def test_packets_by_name():
    config = worker_config(0, 2, kind="shift", message_packets=2).collective
    assert message_packets(config, 200, 1, 256) == (1, 2, 2)
    assert message_packets(worker_config(0, 2, kind="ring").collective, 128, 1, 256) == (1, 1)


def test_a_collective_of_phases_has_no_connection_of_its_own():
    with pytest.raises(ScenarioError, match="no phases; found tencent;"):
        message_packets(worker_config(0, 2, kind="tencent").collective, 1, 1, 256)
    assert message_packets(worker_config(0, 2, kind="all_gather").collective, 128, 1, 256) == (1,)
