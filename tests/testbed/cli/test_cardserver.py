"""An emulated card as a process of its own, wired to a tester: programmed, configured, proven, broken."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from switch_nodes.fpga.bitstream import reference_bitstream
from testbed.cli import main
from testbed.lab.cards.configfile import config_text
from testbed.lab.cards.traces import write_trace
from tests.support.cards import card_config, job_trace
from tests.support.namespace import own_namespace
from tests.support.netreduce_harness import small_job
from tests.support.nodes import Node

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs uid 0")]
PORTS = 3


class Card:
    """Port i of the card is `ci`, the tester's end `ti`."""

    def __init__(self, space, folder, *options):
        for port in range(PORTS):
            space.veth(f"c{port}", f"t{port}")
        self.address = f"unix:{folder / 'card.sock'}"
        interfaces = [word for port in range(PORTS) for word in ("--port", f"c{port}")]
        words = ["card", "serve", "--listen", self.address, *interfaces, *options]
        self.node = Node(folder, "card", *words)
        self.first = self.node.await_event("CardServed")

    def stop(self):
        return [json.loads(line) for line in self.node.stop(within_s=10).splitlines()]


@pytest.fixture
def trace(tmp_path):
    """Words of the command line: the trace, its configuration, the ports."""
    write_trace(tmp_path / "t.pcapng", PORTS, job_trace(small_job()), outgoing=False, when=lambda step: 0)
    (tmp_path / "switch.json").write_text(config_text(card_config()))
    ports = [word for port in range(PORTS) for word in ("--port", f"t{port}")]
    return [str(tmp_path / "t.pcapng"), "--config", str(tmp_path / "switch.json"), *ports]


@pytest.fixture
def bits(tmp_path, capsys):
    assert main(["card", "bitstream", "--out", str(tmp_path / "n.bit")]) == 0
    capsys.readouterr()
    return str(tmp_path / "n.bit")


def test_a_card_is_programmed_and_proven_through_its_ports(tmp_path, trace, bits, capsys):
    with own_namespace() as space:
        card = Card(space, tmp_path, "--load-time", "50ms")
        try:
            assert card.first["event"] == "CardServed"
            assert main(["card", "golden", *trace, "--card", card.address]) == 75
            assert "no bitstream is loaded" in capsys.readouterr().err
            assert main(["card", "program", "--card", card.address, bits]) == 0
            for _ in range(2):  # the second time, nothing of the first is in the slots
                assert main(["card", "golden", *trace, "--card", card.address]) == 0
        finally:
            events = card.stop()
    assert not (tmp_path / "card.sock").exists()
    names = {event["event"] for event in events}
    assert {"CardLoaded", "CardCommanded", "MessageAggregated", "PlaneStatistics", "SwitchStatistics"} <= names


def test_a_client_killed_while_it_loads_leaves_a_card_that_the_next_one_recovers(tmp_path, trace, bits, capsys):
    large = tmp_path / "large.bit"
    large.write_bytes(reference_bitstream(size=2_000_000))
    with own_namespace() as space:
        card = Card(space, tmp_path)
        try:
            command = [sys.executable, "-m", "testbed", "card", "program", "--card", card.address, str(large)]
            client = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            began = card.node.await_event("CardCommanded", command="load_begin")
            client.kill()
            assert client.wait(10) == -signal.SIGKILL
            assert began["failure"] == "none"
            assert main(["card", "check", "--card", card.address, "--json"]) == 0
            facts = json.loads(capsys.readouterr().out)
            assert (facts["load_state"], facts["status"], facts["bitstream"]) == ("LOADING", "nothing", "")
            assert main(["card", "golden", *trace, "--card", card.address]) == 75
            assert main(["card", "program", "--card", card.address, bits]) == 0
            assert main(["card", "golden", *trace, "--card", card.address]) == 0
        finally:
            card.stop()


def test_a_card_that_stops_passing_frames_is_found(tmp_path, trace, bits, capsys):
    with own_namespace() as space:
        card = Card(space, tmp_path, "--fault", "stops-passing:10")
        try:
            assert main(["card", "program", "--card", card.address, bits]) == 0
            words = ["card", "golden", *trace, "--card", card.address, "--patience", "100ms", "--json"]
            capsys.readouterr()
            assert main(words) == 1
            document = json.loads(capsys.readouterr().out)
        finally:
            events = card.stop()
    assert document["difference"]["kind"] == "is missing"
    assert document["difference"]["step"] == 11
    assert {"event": "CardFaultStruck", "fault": "StopsPassing"}.items() <= next(
        event for event in events if event["event"] == "CardFaultStruck"
    ).items()


def test_interfaces_that_do_not_exist(tmp_path, capsys):
    with own_namespace():
        words = ["card", "serve", "--listen", f"unix:{tmp_path / 's'}", "--port", "nope"]
        assert main(words) == 3
    assert "nope" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
