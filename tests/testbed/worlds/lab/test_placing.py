"""Which host of the lab plays which of the scenario, and what a lab refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.lab.agent.facts import InterfaceFacts
from testbed.lab.inventory import parse_inventory
from testbed.plan import make_plan
from testbed.scenario import parse_scenario
from testbed.worlds.lab.placing import choose_card, localised, places, refuse_for_lab, worker_of
from workloads.errors import LabError, ScenarioError

_INVENTORY = """\
name: bench
defaults: {interfaces: {data: {device: eth1}}}
hosts: {a: {address: a}, b: {address: b}, f: {address: f}}
cards: {fpga0: {host: f, transport: "unix:/run/c", ports: [b.data, a.data]}}
"""
_SCENARIO = "name: s\nworld: lab\ntopology: {kind: rack, hosts: 2}\n"


def _scenario(more: str = "", base: str = _SCENARIO):  # type: ignore[no-untyped-def]
    return parse_scenario(base + more, "s.yaml")


def test_hosts_sit_where_their_cables_end() -> None:
    inventory = parse_inventory(_INVENTORY, "lab.yaml", Path("/"))
    card = choose_card(inventory)
    assert places(_scenario(), inventory, card) == {"h1": ("b", "data"), "h2": ("a", "data")}
    with pytest.raises(ScenarioError) as told:
        places(_scenario(base="name: s\ntopology: {kind: rack, hosts: 3}\n"), inventory, card)
    assert str(told.value) == (
        "lab.yaml: cards.fpga0.ports: card fpga0 has fewer ports than the scenario has hosts; found 2; allowed: 3 or "
        "more; "
        "or --set topology.hosts=2"
    )


def test_a_plan_has_the_addresses_of_the_hardware() -> None:
    facts = {
        "h1": InterfaceFacts(1500, "02:00:00:00:00:0a", "192.168.9.1", up=True, carrier=True),
        "h2": InterfaceFacts(1500, "02:00:00:00:00:0b", None, up=True, carrier=True),
    }
    scenario = _scenario()
    plan = make_plan(localised(scenario, facts))
    (switch,) = plan.switches
    assert switch.macs == ((b"\x02\0\0\0\0\x0a", 0), (b"\x02\0\0\0\0\x0b", 1))
    assert [member.ip for member in switch.rings[0].members] == [b"\xc0\xa8\x09\x01", scenario.topology.hosts[1].ip]
    same = {name: InterfaceFacts(1500, "02:00:00:00:00:0a", None, up=True, carrier=True) for name in facts}
    with pytest.raises(LabError, match="h2: its data interface has the same address as that of h1"):
        localised(scenario, same)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            "faults: [{kind: loss, rate: 1%, name: lossy}]\n",
            "faults: the cables of a lab cannot have faults; found lossy",
        ),
        ("trace: true\n", "trace: a card does not tell every step of its tables; found true"),
        ("clocks: {offset: 1s}\n", "clocks"),
    ],
)
def test_what_hardware_cannot_be(more: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as told:
        refuse_for_lab(_scenario(more))
    assert problem in str(told.value)


def test_cables_do_not_trim() -> None:
    base = "name: s\nworld: lab\ntopology: {kind: rack, hosts: 2, link: {queue_full: trim}}\n"
    with pytest.raises(ScenarioError, match=r"topology\.link\.queue_full: cables and cards of a lab do not trim"):
        refuse_for_lab(_scenario(base=base))


_CABLES = _INVENTORY.replace("ports: [", "cables: /run/c, ports: [")


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("{kind: loss, rate: 1%, name: lossy}", ""),
        ("{kind: drop, name: one, match: {opcode: ack, attempt: 1}}", ""),
        ("{kind: loss, rate: 1%, name: late, from: 5ms}", "cannot have this fault; found late; allowed: faults of pa"),
        ("{kind: kill, name: k, node: h1, from: 1ms}", "cannot have this fault; found k"),
    ],
)
def test_cables_of_an_emulated_lab_have_faults_of_packets(fault: str, problem: str) -> None:
    card = choose_card(parse_inventory(_CABLES, "lab.yaml", Path("/")))
    scenario = _scenario(f"faults: [{fault}]\n")
    if not problem:
        refuse_for_lab(scenario, card)
        return
    with pytest.raises(ScenarioError) as told:
        refuse_for_lab(scenario, card)
    assert problem in str(told.value)


def test_the_time_of_a_lab_is_its_own() -> None:
    card = choose_card(parse_inventory(_CABLES + "dilation: 50\n", "lab.yaml", Path("/")))
    refuse_for_lab(_scenario("dilation: 50\n"), card, 50)
    with pytest.raises(ScenarioError, match=r"keep their own time; found 20; allowed: 1, 50 \(of this lab\)"):
        refuse_for_lab(_scenario("dilation: 20\n"), card, 50)


@pytest.mark.parametrize(("key", "value"), [("priority", "layers"), ("drop_low_above", "5")])
def test_cables_know_no_classes(key: str, value: str) -> None:
    base = f"name: s\nworld: lab\ntopology: {{kind: rack, hosts: 2, link: {{{key}: {value}}}}}\n"
    with pytest.raises(ScenarioError, match=rf"topology\.link\.{key}: cables and cards of a lab do not .* classes"):
        refuse_for_lab(_scenario(base=base))


def test_a_fabric_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"topology.kind: a lab has one card between its hosts; found spine_leaf"):
        refuse_for_lab(
            parse_scenario("name: s\ntopology: {kind: spine_leaf, spines: 1, leaves: 2, hosts_per_leaf: 2}\n", "s.yaml")
        )
    with pytest.raises(ScenarioError, match="do not run in a lab"):
        worker_of(object())
