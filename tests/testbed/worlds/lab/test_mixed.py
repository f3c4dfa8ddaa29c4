"""Emulated hosts, a card of a lab behind a tunnel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from switch_nodes.fpga.cards import RTL
from testbed.faults.events import FaultStruck
from testbed.history import read_history
from testbed.lab.emulated.hardware import library_of
from testbed.lab.emulated.shape import RTL_DILATION, LabShape
from testbed.lab.inventory import load_inventory, parse_inventory
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario, parse_scenario
from testbed.worlds.lab.mixed import refuse_for_tunnel
from tests.support.labs import environment, lab_of, require_lab, using
from tests.support.rtl import needs_simulation
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted

_CHANGES = ("job.size=200kB",)


@pytest.mark.root
@pytest.mark.mininet
def test_a_card_behind_vxlan_survives_one_percent_loss(tmp_path: Path) -> None:
    require_lab()
    pytest.importorskip("mininet")
    _survives_loss(LabShape(f"x{os.getpid()}", hosts=4, tunnels=True), tmp_path)


@pytest.mark.root
@pytest.mark.mininet
@pytest.mark.minutes
@pytest.mark.timeout(900)
def test_the_hardware_behind_vxlan_does_too(tmp_path: Path) -> None:
    require_lab()
    pytest.importorskip("mininet")
    needs_simulation()
    shape = LabShape(f"y{os.getpid()}", hosts=4, tunnels=True, card_kind=RTL)
    library_of(shape)  # takes longer than a lab may take to come up
    environment_told = _survives_loss(shape, tmp_path)
    assert environment_told["dilation"] == str(RTL_DILATION), "the hosts keep the time of the lab"


def _survives_loss(shape: LabShape, tmp_path: Path) -> dict[str, str]:
    """The environment that the run's result names."""
    with lab_of(shape) as lab:
        argv = [sys.executable, "-P", "-m", "testbed", "run", "rack-lossy", "--card", "fpga0", "--inventory", str(lab)]
        done = subprocess.run(
            [*argv, "--set", _CHANGES[0], "--out", str(tmp_path / "run"), "--no-color"],
            env=environment(XDG_STATE_HOME=str(tmp_path)), capture_output=True, text=True, timeout=500, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        with using(load_inventory(lab), tmp_path / "ina-testbed") as (client, _):
            found = client.agent(client.inventory.hosts["f1"]).hello()
            assert (found.leases, found.running) == ((), ())
    history = list(read_history(tmp_path / "run" / "history.jsonl"))
    simulated = run_scenario(load_scenario("rack-lossy", _CHANGES, world="simulated"), tmp_path / "simulated")

    def sums(records):  # type: ignore[no-untyped-def]
        return {
            (r.node, r.event.iteration): r.event.sha256 for r in records if isinstance(r.event, CollectiveCompleted)
        }

    assert sums(history) == sums(simulated.history)
    assert {record.event.fault for record in history if isinstance(record.event, FaultStruck)} == {"loss"}
    told = {record.name for record in history if record.node == "s1"}
    assert "CardCommanded" in told, "the card summed, and not a switch of ours"
    document = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    return dict(document["environment"])


_INVENTORY = """\
name: bench
hosts: {f: {address: f}}
cards:
  fpga0: {host: f, transport: "unix:/run/c", tunnel: {address: 10.0.0.9, ports: 2}}
  fpga1: {host: f, transport: "unix:/run/d"}
"""


@pytest.mark.parametrize(
    ("card", "scenario", "problem"),
    [
        ("fpga1", "topology: {kind: rack, hosts: 2}", "cards.fpga1.tunnel: this card has no tunnel"),
        ("fpga0", "topology: {kind: rack, hosts: 3}", "has fewer ports than the scenario has hosts; found 2"),
        ("fpga0", "topology: {kind: rack, hosts: 2}\ntrace: true", "trace: a card does not tell every step"),
        (
            "fpga0",
            "topology: {kind: rack, hosts: 2}\nfaults: [{kind: kill, name: k, node: s1, from: 1ms}]",
            "faults: a card is no process of ours; found k",
        ),
    ],
)
def test_what_a_card_behind_a_tunnel_cannot_be(card: str, scenario: str, problem: str) -> None:
    inventory = parse_inventory(_INVENTORY, "lab.yaml", Path("/"))
    with pytest.raises(ScenarioError) as told:
        refuse_for_tunnel(parse_scenario(f"name: s\n{scenario}\n", "s.yaml"), inventory.card(card), "lab.yaml")
    assert problem in str(told.value)
