"""`nics`: which NIC a host uses, and the words when that cannot be."""

from __future__ import annotations

import pytest

from testbed.scenario.dump import dump_scenario
from testbed.scenario.loader import parse_scenario
from workloads.errors import ScenarioError

BASE = "name: a\ntopology: {kind: rack, hosts: 3}\n"
NIC = "soft (our own endpoint), or verbs:NAME, an RDMA device, as verbs:rxe0"


@pytest.mark.parametrize(
    ("text", "nics"),
    [
        ("", ()),
        ("nics: {}\n", ()),
        ("nics: {h1: soft}\n", ()),
        ("nics: {h3: verbs:mlx5_0, h2: soft, h1: verbs:rxe0}\n", (("h1", "rxe0"), ("h3", "mlx5_0"))),
    ],
)
def test_hosts_on_devices_come_in_the_order_of_the_hosts_and_load_back(text, nics):
    scenario = parse_scenario(BASE + text, "f")
    assert scenario.nics == nics
    assert parse_scenario(dump_scenario(scenario), "f") == scenario


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nics: 3\n", f"f:3: nics: not a mapping; found 3; allowed: host: NIC; a NIC is {NIC}"),
        ("nics: {h1: mlx5_0}\n", f"f:3: nics.h1: not a NIC; found 'mlx5_0'; allowed: {NIC}"),
        ("nics: {h1: 'verbs:'}\n", f"f:3: nics.h1: not a NIC; found 'verbs:'; allowed: {NIC}"),
        ("nics: {h1: 'verbs:a/b'}\n", f"f:3: nics.h1: not a NIC; found 'verbs:a/b'; allowed: {NIC}"),
        ("nics: {h1: 4}\n", f"f:3: nics.h1: not a NIC; found 4; allowed: {NIC}"),
        ("nics: {h9: soft}\n", "f:3: nics.h9: there is no such host; allowed: a host of the topology"),
        (
            "nics: {h1: verbs:a, h2: verbs:a}\n",
            "f:3: nics.h2: h1 uses this device; found 'verbs:a'; allowed: a device per host",
        ),
        (
            "world: simulated\nnics: {h2: verbs:rxe1}\n",
            ("f:4: nics.h2: a device works in real time only; found verbs:rxe1 in world simulated; allowed: soft, or "
             "world: "
            "emulated (or --world emulated)"),
        ),
        (
            "nics: {h1: verbs:a}\nfaults: [{kind: kill, node: h1, from: 1s, until: 2s}]\n",
            ("f:3: nics.h1: a worker on a device cannot restart: its peers know its old queue pairs; found verbs:a, "
             "and a "
            "kill of h1 with an end; allowed: soft for h1, or a kill without an end"),
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(text, told):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(BASE + text, "f")
    assert str(caught.value) == told


@pytest.mark.parametrize(
    "text",
    [
        "nics: {h1: verbs:a}\nfaults: [{kind: kill, node: h1, from: 1s}]\n",
        "nics: {h1: verbs:a}\nfaults: [{kind: kill, node: h2, from: 1s, until: 2s}]\n",
        "nics: {h1: verbs:a}\nfaults: [{kind: pause, node: h1, from: 1s, until: 2s}]\n",
    ],
)
def test_what_leaves_its_queue_pairs_alone_is_allowed(text):
    assert parse_scenario(BASE + text, "f").nics == (("h1", "a"),)


def test_an_override_puts_a_host_on_a_device():
    assert parse_scenario(BASE, "f", ["nics.h2=verbs:rxe0"]).nics == (("h2", "rxe0"),)
