"""A lab as one frozen value: what `testbed.lab.inventory` makes of a YAML file. Passive: nothing here acts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from testbed.reading.problems import closest
from workloads.errors import ScenarioError

__all__ = ["Card", "Host", "Inventory", "KeyReference", "LabInterface", "Power", "Tunnel"]


@dataclass(frozen=True, slots=True)
class KeyReference:
    """Where the private key is; never the key. Exactly one of the first three is set."""

    agent: bool = False
    """the SSH agent of $SSH_AUTH_SOCK"""
    file: Path | None = None
    env: str | None = None
    """name of the environment variable that holds the private key in OpenSSH's format"""
    passphrase_env: str | None = None
    """name of the environment variable that holds the passphrase of `file` or `env`"""


@dataclass(frozen=True, slots=True)
class LabInterface:
    label: str
    """name as this file calls it: `data`"""
    device: str
    """name as the host's kernel calls it: `ens1f0`"""
    mtu: int = 1500
    """least MTU; checked, never set"""
    rdma: str | None = None
    """RDMA device on it"""
    switch_port: str | None = None
    """port where its cable ends, as `tor1/12`; documentation for people and reports"""


@dataclass(frozen=True, slots=True)
class Power:
    """How a host is switched: a command on this machine per act, as a list of arguments; no shell."""

    cycle: tuple[str, ...]
    status: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    address: str
    port: int = 22
    user: str | None = None
    key: KeyReference = KeyReference(agent=True)
    jump: str | None = None
    """another host of this lab, through which this one is reached"""
    namespace: Path | None = None
    """network namespace of this machine from which it is reached (`/proc/PID/ns/net`): labs that this machine
    emulates"""
    base: str = "/var/lib/ina-lab"
    """folder of ours on the host"""
    python: str = "python3"
    packages: str = "pip"
    """pip: `deploy` installs requirements.txt; host: `python` has them already"""
    pip_options: tuple[str, ...] = ()
    """arguments of `pip install` there, as `--index-url` or `--find-links`"""
    interfaces: tuple[LabInterface, ...] = ()
    power: Power | None = None
    connect_timeout_s: float = 5.0
    command_timeout_s: float = 60.0

    @property
    def socket(self) -> str:
        """of its agent"""
        return f"{self.base}/agent.sock"

    def interface(self, label: str) -> LabInterface:
        """Raises ScenarioError."""
        for interface in self.interfaces:
            if interface.label == label:
                return interface
        raise ScenarioError(
            "no such interface",
            key=f"hosts.{self.name}.interfaces",
            found=repr(label),
            allowed=", ".join(interface.label for interface in self.interfaces) or "this host has none",
        )


@dataclass(frozen=True, slots=True)
class Tunnel:
    """VXLAN to the data ports of a card, port k in network `vni` + k. The card's host has the far ends, which send to
    us."""

    address: str
    """IPv4 address of the card's host"""
    ports: int
    vni: int = 100
    port: int = 4789
    """UDP"""


@dataclass(frozen=True, slots=True)
class Card:
    name: str
    host: str
    """host whose agent owns it"""
    transport: str
    """way in which that agent reaches its registers: `unix:PATH`, `bar:FILE`, `udp:ADDRESS:PORT`"""
    ports: tuple[tuple[str, str], ...] = ()
    """(host, interface label) behind each data port, in port order"""
    program_timeout_s: float = 60.0
    bitstream: Path | None = None
    """what runs load into it; None: what is loaded"""
    tunnel: Tunnel | None = None
    """None: its data ports have cables only"""
    trace: str | None = None
    """prefix of files on its host where it records what it did since its START. Events are in TRACE.jsonl, frames in
    TRACE.pcapng; cards of silicon have none"""
    cables: str | None = None
    """file on its host from which its cables take the faults of a run (`emulated/cables.py`); real cables have none"""


@dataclass(frozen=True, slots=True)
class Inventory:
    name: str
    file: str
    """name of the file as messages show it"""
    known_hosts: Path
    hosts: Mapping[str, Host]
    cards: Mapping[str, Card] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dilation: int = 1
    """real seconds per second of emulated time; not 1 only in an emulated lab"""

    def select(self, names: Iterable[str] = ()) -> tuple[Host, ...]:
        """Hosts by their names and groups' names; all when none is given. Each once. Raises ScenarioError."""
        wanted = list(names)
        if not wanted:
            return tuple(self.hosts.values())
        chosen: dict[str, Host] = {}
        for name in wanted:
            members = self.groups.get(name, (name,) if name in self.hosts else ())
            if not members:
                raise ScenarioError(
                    "no such host or group", file=self.file, found=repr(name), allowed=", ".join(self.words()),
                    hint=closest(name, self.words()),
                )  # fmt: skip
            chosen |= {member: self.hosts[member] for member in members}
        return tuple(chosen.values())

    def card(self, name: str | None) -> Card:
        """By name; without one, the only card of the lab. Raises ScenarioError."""
        if name is None and len(self.cards) == 1:
            return next(iter(self.cards.values()))
        if name is None or name not in self.cards:
            raise ScenarioError(
                "no such card" if name else "which card is meant",
                file=self.file,
                found=repr(name) if name else None,
                allowed=", ".join(self.cards) or "this lab has no card",
                hint=closest(name, self.cards) if name else None,
            )
        return self.cards[name]

    def words(self) -> tuple[str, ...]:
        return (*self.groups, *self.hosts)
