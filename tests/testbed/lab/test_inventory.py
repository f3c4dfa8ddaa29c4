"""Inventory files: what they mean, and the exact message for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.lab.inventory import load_inventory, parse_inventory
from testbed.lab.model import Inventory, KeyReference, Power
from tests.support.inventories import INVENTORY
from workloads.errors import ScenarioError


def _parse(text: str) -> Inventory:
    return parse_inventory(text, "lab.yaml", Path("/etc/lab"))


def test_all_keys_arrive() -> None:
    inventory = _parse(INVENTORY)
    h1, gate, f1 = inventory.hosts["h1"], inventory.hosts["gate"], inventory.hosts["f1"]
    assert inventory.known_hosts == Path("/etc/lab/trust/known_hosts")
    assert h1.key == KeyReference(file=Path("/etc/lab/keys/id_ed25519"), passphrase_env="LAB_PASS")
    assert gate.key == KeyReference(agent=True)
    assert (h1.user, h1.port, h1.jump, h1.connect_timeout_s, h1.command_timeout_s) == ("lab", 2222, "gate", 2.0, 60.0)
    assert h1.power == Power(("pdu", "cycle", "3"))
    data = h1.interface("data")
    assert (data.device, data.mtu, data.rdma, data.switch_port) == ("ens1f0", 9000, "mlx5_0", "tor1/12")
    assert (f1.base, f1.python, f1.packages, f1.socket) == (
        "/srv/ina",
        "/usr/bin/python3",
        "host",
        "/srv/ina/agent.sock",
    )
    assert inventory.card(None).ports == (("h1", "data"),)
    assert [host.name for host in inventory.select(["workers", "f1", "h1"])] == ["h1", "f1"]
    assert [host.name for host in inventory.select()] == ["gate", "h1", "f1"]


def test_who_is_not_there_is_named_with_who_is() -> None:
    inventory = _parse(INVENTORY)
    with pytest.raises(ScenarioError) as told:
        inventory.select(["h7"])
    assert str(told.value) == "lab.yaml: no such host or group; found 'h7'; allowed: workers, gate, h1, f1"
    with pytest.raises(ScenarioError) as told:
        inventory.card("fpga1")
    assert str(told.value) == "lab.yaml: no such card; found 'fpga1'; allowed: fpga0; did you mean 'fpga0'?"
    with pytest.raises(ScenarioError) as told:
        inventory.hosts["h1"].interface("control")
    assert str(told.value) == "scenario: hosts.h1.interfaces: no such interface; found 'control'; allowed: data"


_HOSTS = "name: bench\nhosts:\n  h1: {address: 10.0.0.1, interfaces: {data: {device: eth1}}}\n"
_MISTAKES = {
    "no-hosts": (
        "name: bench\n",
        "lab.yaml:1: hosts: is missing; allowed: hosts by name, as {h1: {address: 10.0.0.1}}",
    ),
    "empty-hosts": ("name: bench\nhosts: {}\n", "lab.yaml:2: hosts: there is no host; allowed: one host or more"),
    "unknown-key": (
        _HOSTS + "card: {}\n",
        (
            "lab.yaml:4: card: unknown key; allowed: name, known_hosts, defaults, hosts, cards, groups, dilation; "
            "did you mean 'cards'?"
        ),
    ),
    "default-address": (
        "name: bench\ndefaults: {address: x}\nhosts: {h1: {address: a}}\n",
        (
            "lab.yaml:2: defaults.address: unknown key; allowed: port, user, key, jump, namespace, base, python, "
            "packages, "
            "pip_options, interfaces, power, connect_timeout, command_timeout"
        ),
    ),
    "address": (
        "name: bench\nhosts: {h1: {address: -oProxyCommand=x}}\n",
        "lab.yaml:2: hosts.h1.address: not an address; found '-oProxyCommand=x'; allowed: a host name or an IP address",
    ),
    "base": (
        'name: bench\nhosts: {h1: {address: a, base: "/srv/$(id)"}}\n',
        (
            "lab.yaml:2: hosts.h1.base: not a path of a host; found '/srv/$(id)'; allowed: an absolute path of "
            "letters, "
            "digits and . _ - /"
        ),
    ),
    "password": (
        "name: bench\nhosts: {h1: {address: a, password: hunter2}}\n",
        (
            "lab.yaml:2: hosts.h1.password: secrets do not stand in an inventory; allowed: key: with one of agent: "
            "true, "
            "file: PATH, env: NAME"
        ),
    ),
    "url": (
        'name: bench\nhosts: {h1: {address: a, pip_options: [--index-url, "https://me:hunter2@10.0.0.5/simple"]}}\n',
        (
            "lab.yaml:2: hosts.h1.pip_options[1]: this URL holds a secret; allowed: one without; pip's own "
            "configuration "
            "can hold it"
        ),
    ),
    "pip-options": (
        "name: bench\nhosts: {h1: {address: a, pip_options: --no-index}}\n",
        (
            "lab.yaml:2: hosts.h1.pip_options: not options of pip; found '--no-index'; allowed: a list of arguments, "
            "as "
            "[--no-index, --find-links, /srv/wheels]"
        ),
    ),
    "inline-key": (
        'name: bench\nhosts: {h1: {address: a, key: "-----BEGIN OPENSSH PRIVATE KEY-----abc"}}\n',
        (
            "lab.yaml:2: hosts.h1.key: this is a private key; allowed: a reference to it: one of agent: true, file: "
            "PATH, "
            "env: NAME"
        ),
    ),
    "two-keys": (
        "name: bench\nhosts: {h1: {address: a, key: {agent: true, env: K}}}\n",
        (
            "lab.yaml:2: hosts.h1.key: says not exactly once where the key is; allowed: one of agent: true, file: "
            "PATH, "
            "env: NAME"
        ),
    ),
    "jump": (
        "name: bench\nhosts:\n  gate: {address: a}\n  h1: {address: b, jump: gato}\n",
        "lab.yaml:4: hosts.h1.jump: no such host; found 'gato'; allowed: gate, h1; did you mean 'gate'?",
    ),
    "circle": (
        "name: bench\nhosts:\n  a: {address: a, jump: b}\n  b: {address: b, jump: a}\n",
        (
            "lab.yaml:3: hosts.a.jump: leads in a circle; found 'b'; allowed: a way that ends\n"
            "lab.yaml:4: hosts.b.jump: leads in a circle; found 'a'; allowed: a way that ends"
        ),
    ),
    "device": (
        "name: bench\nhosts:\n  h1: {address: a, interfaces: {data: {device: averyverylongname}}}\n",
        (
            "lab.yaml:3: hosts.h1.interfaces.data.device: not an interface; found 'averyverylongname'; "
            "allowed: as ens1f0, at most 15 characters"
        ),
    ),
    "card-host": (
        _HOSTS + "cards: {fpga0: {host: h2, transport: 'unix:/run/c.sock'}}\n",
        "lab.yaml:4: cards.fpga0.host: no such host; found 'h2'; allowed: h1",
    ),
    "card-transport": (
        _HOSTS + "cards: {fpga0: {host: h1, transport: 'jtag:1'}}\n",
        (
            "lab.yaml:4: cards.fpga0.transport: no way to a card; found 'jtag:1'; allowed: unix:/path, bar:/path or "
            "udp:address:port"
        ),
    ),
    "card-port": (
        _HOSTS + "cards: {fpga0: {host: h1, transport: 'unix:/run/c.sock', ports: [h1.dota]}}\n",
        (
            "lab.yaml:4: cards.fpga0.ports[0]: no such interface; found 'h1.dota'; allowed: host.interface, as "
            "h1.data, "
            "which `hosts` describes"
        ),
    ),
    "port-twice": (
        _HOSTS + "cards: {fpga0: {host: h1, transport: 'unix:/run/c.sock', ports: [h1.data, h1.data]}}\n",
        "lab.yaml:4: cards.fpga0.ports[1]: is at cards.fpga0 already; found 'h1.data'; allowed: each port once",
    ),
    "group": (
        _HOSTS + "groups: {workers: [h1, h9]}\n",
        "lab.yaml:4: groups.workers[1]: no such host; found 'h9'; allowed: h1",
    ),
    "group-named-as-host": (
        _HOSTS + "groups: {h1: [h1]}\n",
        "lab.yaml:4: groups.h1: is the name of a host; allowed: a name of its own",
    ),
    "no-time": (
        "name: bench\nhosts: {h1: {address: a, connect_timeout: 0s}}\n",
        "lab.yaml:2: hosts.h1.connect_timeout: out of range; found 0; allowed: more than 0, at most 60min",
    ),
    "power": (
        "name: bench\nhosts: {h1: {address: a, power: {cycle: pdu cycle 3}}}\n",
        (
            "lab.yaml:2: hosts.h1.power.cycle: not a command; found 'pdu cycle 3'; allowed: a list of arguments, as "
            "[pdu, cycle, '3']"
        ),
    ),
}


@pytest.mark.parametrize("name", _MISTAKES)
def test_golden_messages(name: str) -> None:
    text, message = _MISTAKES[name]
    with pytest.raises(ScenarioError) as told:
        _parse(text)
    assert str(told.value) == message
    assert told.value.exit_code == 64


def test_a_secret_is_never_shown() -> None:
    for name in ("password", "inline-key", "url"):
        with pytest.raises(ScenarioError) as told:
            _parse(_MISTAKES[name][0])
        assert "hunter2" not in str(told.value)
        assert "abc" not in str(told.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such file"):
        load_inventory(tmp_path / "lab.yaml")
