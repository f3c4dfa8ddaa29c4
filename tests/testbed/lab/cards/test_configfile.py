from dataclasses import replace

import pytest

from switch_nodes.config import LeafLinks, RingMember, SwitchConfig
from testbed.lab.cards.configfile import config_text
from testbed.plan.nodeconfig import parse_node_config
from tests.support.cards import card_config
from tests.support.netreduce_harness import small_job


@pytest.mark.parametrize("changes", [{}, {"release": "asap", "flood_ports": (0, 2), "hairpin": True}, {"macs": ()}])
def test_there_and_back(changes):
    for job in (small_job(), small_job(ipv6=True)):
        config = card_config(job, **changes)
        preset = {"program": "fpga", "ports": config.ports}
        assert parse_node_config(config_text(config), "switch.json", SwitchConfig, preset) == config


def test_leaves_have_no_such_file():
    ring = small_job().ring()
    links = LeafLinks(3, (1,), RingMember(2, bytes(4), -1), bytes(4))
    assert config_text(card_config(rings=(replace(ring, links=links),))) is None
