"""Inventory file -> `Inventory`. All problems are reported at once, with file, line, key, what was found, what is
allowed.

Secrets stand in an inventory by reference only. What looks like one is refused without being shown.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from testbed.lab.model import Card, Host, Inventory, KeyReference, LabInterface, Power, Tunnel
from testbed.lab.schema import (
    CARD_PORT,
    CardKeys,
    HostKeys,
    InterfaceKeys,
    InventoryKeys,
    KeyKeys,
    PowerKeys,
    TunnelKeys,
)
from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.validate import key_names, validate_mapping, validate_section
from testbed.reading.yamlfile import parse_yaml, read_text
from workloads.errors import ScenarioError

__all__ = ["load_inventory", "parse_inventory"]

_SECRETS = ("password", "passphrase", "private_key", "secret", "token")
_URL_WITH_SECRET = re.compile(r"://[^/\s]*@")
_MAX_HOSTS = 256
_WAYS_OF_KEYS = "one of agent: true, file: PATH, env: NAME"


def load_inventory(path: Path) -> Inventory:
    """Raises ScenarioError (InvalidScenario when the text is YAML): all problems, in file order."""
    return parse_inventory(read_text(path, str(path)), str(path), path.absolute().parent)


def parse_inventory(text: str, file: str, folder: Path) -> Inventory:
    """As `load_inventory`, from text; relative paths count from `folder`."""
    data, places = parse_yaml(text, file)
    if not isinstance(data, dict):
        problem = "the file is empty" if data is None else "the file is not a mapping"
        raise ScenarioError(problem, file=file, allowed=f"keys: {', '.join(key_names(InventoryKeys))}")
    problems = Problems(file, places)
    inventory = _Build(problems, data, folder).inventory(file)
    problems.raise_if_any()
    assert inventory is not None
    return inventory


class _Build:
    def __init__(self, problems: Problems, data: dict[str, Any], folder: Path) -> None:
        self.problems, self.data, self.folder = problems, data, folder

    def inventory(self, file: str) -> Inventory | None:
        self._refuse_secrets((), self.data)
        if self.problems:
            return None
        top = validate_section(self.problems, (), self.data, InventoryKeys, "the file")
        hosts = self._hosts()
        self._check_jumps(hosts)
        cards, groups = self._cards(hosts), self._groups(hosts)
        if top is None:
            return None
        return Inventory(top.name, file, self._path(top.known_hosts), hosts, cards, groups, top.dilation)

    def _path(self, text: str) -> Path:
        path = Path(text).expanduser()
        return path if path.is_absolute() else self.folder / path

    def _refuse_secrets(self, path: KeyPath, value: object) -> None:
        """Before anything else looks at the file, since messages show what they found."""
        if isinstance(value, dict):
            for key, item in value.items():
                if key.lower() in _SECRETS:
                    self.problems.add(
                        (*path, key), "secrets do not stand in an inventory", allowed=f"key: with {_WAYS_OF_KEYS}"
                    )
                else:
                    self._refuse_secrets((*path, key), item)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self._refuse_secrets((*path, index), item)
        elif isinstance(value, str) and "PRIVATE KEY" in value:
            self.problems.add(path, "this is a private key", allowed=f"a reference to it: {_WAYS_OF_KEYS}")
        elif isinstance(value, str) and _URL_WITH_SECRET.search(value):
            self.problems.add(
                path, "this URL holds a secret", allowed="one without; pip's own configuration can hold it"
            )

    def _section(self, key: str) -> dict[str, Any]:
        value = self.data.get(key)
        return {} if value is None else validate_mapping(self.problems, (key,), value, key) or {}

    def _hosts(self) -> dict[str, Host]:
        hosts: dict[str, Host] = {}
        defaults, given = self._section("defaults"), self._section("hosts")
        allowed = [name for name in key_names(HostKeys) if name != "address"]
        for key in [key for key in defaults if key not in allowed]:
            hint = closest(key, allowed)
            self.problems.add(("defaults", key), "unknown key", allowed=", ".join(allowed), hint=hint)
            del defaults[key]
        if (
            defaults
            and validate_section(
                self.problems, ("defaults",), {"address": "localhost", **defaults}, HostKeys, "defaults"
            )
            is None
        ):
            defaults = {}
        if "hosts" in self.data and not given:
            self.problems.add(("hosts",), "there is no host", allowed="one host or more")
        if len(given) > _MAX_HOSTS:
            self.problems.add(("hosts",), "too many hosts", found=str(len(given)), allowed=f"at most {_MAX_HOSTS}")
        for name, value in given.items():
            host = self._host(name, value, defaults)
            if host is not None:
                hosts[name] = host
        return hosts

    def _host(self, name: str, value: object, defaults: dict[str, Any]) -> Host | None:
        path: KeyPath = ("hosts", name)
        if not self._good_name(path, name):
            return None
        data = validate_mapping(self.problems, path, value, f"host {name}")
        if data is None:
            return None
        own = validate_section(self.problems, path, data, HostKeys, f"host {name}")
        if own is None:
            return None
        keys = HostKeys.model_validate({**defaults, **data})
        origin: KeyPath = path if "key" in data else ("defaults",)
        key = self._key((*origin, "key"), keys.key)
        interfaces = self._interfaces(
            (*(path if "interfaces" in data else ("defaults",)), "interfaces"), keys.interfaces
        )
        power = self._power((*(path if "power" in data else ("defaults",)), "power"), keys.power)
        for what in ("connect_timeout", "command_timeout"):
            if getattr(keys, what) == 0:
                self.problems.add((*path, what), "out of range", found="0", allowed="more than 0, at most 60min")
        return Host(
            name=name,
            address=keys.address,
            port=keys.port,
            user=keys.user,
            key=key,
            jump=keys.jump,
            namespace=None if keys.namespace is None else Path(keys.namespace),
            base=keys.base.rstrip("/"),
            python=keys.python,
            packages=keys.packages,
            pip_options=keys.pip_options,
            interfaces=interfaces,
            power=power,
            connect_timeout_s=keys.connect_timeout / 1e9,
            command_timeout_s=keys.command_timeout / 1e9,
        )

    def _good_name(self, path: KeyPath, name: str) -> bool:
        if name.isascii() and name.replace("-", "").isalnum() and name == name.lower() and len(name) <= 32:
            return True
        self.problems.add(path, "not a name", found=repr(name), allowed="a-z, 0-9 and -, at most 32 characters")
        return False

    def _key(self, path: KeyPath, value: object) -> KeyReference:
        if value is None:
            return KeyReference(agent=True)
        keys = validate_section(self.problems, path, value, KeyKeys, "key")
        if keys is None:
            return KeyReference()
        if sum((keys.agent, keys.file is not None, keys.env is not None)) != 1:
            self.problems.add(path, "says not exactly once where the key is", allowed=_WAYS_OF_KEYS)
        file = None if keys.file is None else self._path(keys.file)
        return KeyReference(keys.agent, file, keys.env, keys.passphrase_env)

    def _interfaces(self, path: KeyPath, value: object) -> tuple[LabInterface, ...]:
        if value is None:
            return ()
        found = []
        for label, item in (validate_mapping(self.problems, path, value, "interfaces") or {}).items():
            keys = validate_section(self.problems, (*path, label), item, InterfaceKeys, f"interface {label}")
            if self._good_name((*path, label), label) and keys is not None:
                found.append(LabInterface(label, keys.device, keys.mtu, keys.rdma, keys.switch_port))
        return tuple(found)

    def _power(self, path: KeyPath, value: object) -> Power | None:
        keys = None if value is None else validate_section(self.problems, path, value, PowerKeys, "power")
        return None if keys is None else Power(keys.cycle, keys.status)

    def _check_jumps(self, hosts: dict[str, Host]) -> None:
        for host in hosts.values():
            path: KeyPath = ("hosts", host.name, "jump")
            if host.jump is not None and host.jump not in hosts:
                hint = closest(host.jump, hosts)
                self.problems.add(path, "no such host", found=show(host.jump), allowed=", ".join(hosts), hint=hint)
                continue
            seen, way = {host.name}, host.jump
            while way is not None and way in hosts:
                if way in seen:
                    self.problems.add(path, "leads in a circle", found=show(host.jump), allowed="a way that ends")
                    break
                seen.add(way)
                way = hosts[way].jump

    def _cards(self, hosts: dict[str, Host]) -> dict[str, Card]:
        cards: dict[str, Card] = {}
        taken: dict[str, str] = {}
        for name, value in self._section("cards").items():
            path: KeyPath = ("cards", name)
            keys = validate_section(self.problems, path, value, CardKeys, f"card {name}")
            if not self._good_name(path, name) or keys is None:
                continue
            if keys.host not in hosts:
                self._unknown_host((*path, "host"), keys.host, hosts)
            ports = []
            for index, port in enumerate(keys.ports):
                here = (*path, "ports", index)
                host, _, label = port.partition(".")
                known = [interface.label for interface in hosts[host].interfaces] if host in hosts else []
                if label not in known:
                    self.problems.add(
                        here, "no such interface", found=show(port), allowed=f"{CARD_PORT}, which `hosts` describes"
                    )
                elif port in taken:
                    self.problems.add(here, f"is at {taken[port]} already", found=show(port), allowed="each port once")
                taken[port] = f"cards.{name}"
                ports.append((host, label))
            tunnel = self._tunnel((*path, "tunnel"), keys.tunnel)
            limit_s = keys.program_timeout / 1e9
            bitstream = None if keys.bitstream is None else self._path(keys.bitstream)
            cards[name] = Card(
                name, keys.host, keys.transport, tuple(ports), limit_s, bitstream, tunnel, keys.trace, keys.cables
            )
        return cards

    def _tunnel(self, path: KeyPath, value: object) -> Tunnel | None:
        keys = None if value is None else validate_section(self.problems, path, value, TunnelKeys, "tunnel")
        return None if keys is None else Tunnel(keys.address, keys.ports, keys.vni, keys.port)

    def _unknown_host(self, path: KeyPath, name: str, hosts: dict[str, Host]) -> None:
        self.problems.add(path, "no such host", found=show(name), allowed=", ".join(hosts), hint=closest(name, hosts))

    def _groups(self, hosts: dict[str, Host]) -> dict[str, tuple[str, ...]]:
        groups: dict[str, tuple[str, ...]] = {}
        for name, value in self._section("groups").items():
            path: KeyPath = ("groups", name)
            if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
                self.problems.add(path, "not a list of hosts", found=show(value), allowed="a list, as [h1, h2]")
                continue
            if name in hosts:
                self.problems.add(path, "is the name of a host", allowed="a name of its own")
            for index, member in enumerate(value):
                if member not in hosts:
                    self._unknown_host((*path, index), member, hosts)
            if len(set(value)) != len(value):
                self.problems.add(path, "a host is named twice", found=show(value), allowed="each host once")
            groups[name] = tuple(value)
        return groups
