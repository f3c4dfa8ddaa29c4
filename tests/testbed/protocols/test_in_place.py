"""Jobs whose result overwrites the gradient (`job.in_place`), on a network that loses packets."""

from __future__ import annotations

import json

import pytest

from testbed.runs.run import judge_scenario
from testbed.scenario import parse_scenario
from testbed.scenario.protocols.known import names_where
from testbed.scenario.protocols.protocol import KeyGroup
from testbed.sweeps.protocols import under_protocol
from workloads.errors import ScenarioError

pytestmark = pytest.mark.protocols("all")

_LOSSY = {
    "name": "in-place",
    "world": "simulated",
    "topology": {"kind": "rack", "hosts": 3, "link": {"rate": "1Gbps"}},
    "job": {"size": "60kB", "iterations": 2, "message_packets": 8, "in_place": True},
    "transport": {"timeout": 8},
    "faults": [{"name": "loss", "kind": "loss", "rate": "3%"}],
}
_IN_PLACE = ("atp", "esa", "netreduce", "ps", "ring", "switchml")


def test_every_protocol_that_says_so_is_tried():
    assert names_where(lambda each: KeyGroup.IN_PLACE in each.optional_keys()) == _IN_PLACE


@pytest.mark.parametrize("name", _IN_PLACE)
def test_a_result_takes_the_place_of_the_gradient(name):
    scenario = parse_scenario(json.dumps(under_protocol(_LOSSY, name)), "test")
    document = judge_scenario(scenario, "")
    bad = [check for check in document["checks"] if check["verdict"] != "pass"]
    assert not bad
    assert document["metrics"]["retransmissions"]["packets"] > 0


def test_a_protocol_that_reads_its_gradient_late_refuses_it():
    data = {**_LOSSY, "job": {**_LOSSY["job"], "protocol": "recursive_doubling"}, "switch": {"program": "forward"}}
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(json.dumps(data), "test")
    text = " ".join(str(caught.value).split())
    assert "job.in_place: protocol recursive_doubling still reads its gradient when parts of the result" in text
    assert "job.protocol: atp, esa, netreduce, ps, ring, switchml" in text
