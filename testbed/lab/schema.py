"""The keys of an inventory file: names, types and defaults. docs/lab.md explains each."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from testbed.reading.fields import BoolKey, DurationKey, WordKey, choice, refuse, whole
from testbed.reading.keytypes import Plain
from testbed.reading.validate import InventorySection

__all__ = ["CARD_PORT", "CardKeys", "HostKeys", "InterfaceKeys", "InventoryKeys", "KeyKeys", "PowerKeys", "TunnelKeys"]

CARD_PORT = "host.interface, as h1.data"
_TRANSPORT = "unix:/path, bar:/path or udp:address:port"


def _form(pattern: str, problem: str, allowed: str) -> Plain:
    compiled = re.compile(pattern + r"\Z", re.ASCII)

    def check(value: object) -> str:
        if not isinstance(value, str) or not compiled.match(value):
            raise refuse(problem, allowed)
        return value

    return Plain(check)


def _words(problem: str, allowed: str, least: int = 1) -> Plain:
    def check(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) < least or not all(isinstance(item, str) for item in value):
            raise refuse(problem, allowed)
        return tuple(value)

    return Plain(check)


# A leading dash would be an option to whatever gets it as an argument.
Address: TypeAlias = Annotated[
    str, _form(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}", "not an address", "a host name or an IP address")
]
User: TypeAlias = Annotated[str, _form(r"[a-z_][a-z0-9_.-]{0,31}", "not a user name", "as lab, at most 32 characters")]
Folder: TypeAlias = Annotated[
    str, _form(r"/[A-Za-z0-9_./-]{1,200}", "not a path of a host", "an absolute path of letters, digits and . _ - /")
]
Program: TypeAlias = Annotated[
    str, _form(r"[A-Za-z0-9_/][A-Za-z0-9_./+-]{0,200}", "not a program", "its name or path, as python3")
]
Variable: TypeAlias = Annotated[
    str, _form(r"[A-Za-z_][A-Za-z0-9_]{0,99}", "not the name of an environment variable", "its name, as LAB_KEY")
]
Path_: TypeAlias = Annotated[str, _form(r"[^\x00\n]{1,500}", "not a path", "a path, relative to this file or absolute")]
Device: TypeAlias = Annotated[
    str, _form(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}", "not an interface", "as ens1f0, at most 15 characters")
]
RdmaDevice: TypeAlias = Annotated[str, _form(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,62}", "not an RDMA device", "as mlx5_0")]
SwitchPort: TypeAlias = Annotated[
    str, _form(r"[A-Za-z0-9_][A-Za-z0-9_./:-]{0,62}", "not a port of a switch", "as tor1/12")
]
TransportKey: TypeAlias = Annotated[
    str,
    _form(
        r"(?:unix|bar):/[A-Za-z0-9_./:-]{1,200}|udp:[A-Za-z0-9.:_-]{1,253}:[0-9]{1,5}",
        "no way to a card",
        _TRANSPORT,
    ),
]


class InventoryKeys(InventorySection):
    """Top level. The sections are checked one by one, so that all problems of a file are found."""

    name: WordKey
    known_hosts: Path_ = "known_hosts"
    defaults: Any = None
    hosts: Any = Field(..., description="hosts by name, as {h1: {address: 10.0.0.1}}")
    cards: Any = None
    groups: Any = None
    dilation: Annotated[int, whole(1, 1000)] = 1


class HostKeys(InventorySection):
    """`hosts.NAME`; `defaults` holds the same keys, except the address."""

    address: Address
    port: Annotated[int, whole(1, 65_535)] = 22
    user: User | None = None
    key: Any = None
    jump: WordKey | None = None
    namespace: Folder | None = None
    base: Folder = "/var/lib/ina-lab"
    python: Program = "python3"
    packages: Annotated[str, choice(["pip", "host"])] = "pip"
    pip_options: Annotated[
        tuple[str, ...],
        _words("not options of pip", "a list of arguments, as [--no-index, --find-links, /srv/wheels]", 0),
    ] = ()
    interfaces: Any = None
    power: Any = None
    connect_timeout: DurationKey = 5_000_000_000
    command_timeout: DurationKey = 60_000_000_000


class KeyKeys(InventorySection):
    """Exactly one of agent, file, env."""

    agent: BoolKey = False
    file: Path_ | None = None
    env: Variable | None = None
    passphrase_env: Variable | None = None


class InterfaceKeys(InventorySection):
    device: Device
    mtu: Annotated[int, whole(256, 65_535, " (bytes of the largest IP packet)")] = 1500
    rdma: RdmaDevice | None = None
    switch_port: SwitchPort | None = None


class PowerKeys(InventorySection):
    cycle: Annotated[tuple[str, ...], _words("not a command", "a list of arguments, as [pdu, cycle, '3']")]
    status: Annotated[tuple[str, ...], _words("not a command", "a list of arguments, as [pdu, status, '3']")] = ()


class CardKeys(InventorySection):
    host: WordKey
    transport: TransportKey
    ports: Annotated[tuple[str, ...], _words("not a list of ports", f"a list; each {CARD_PORT}", 0)] = ()
    bitstream: Path_ | None = None
    tunnel: Any = None
    trace: Folder | None = None
    cables: Folder | None = None
    program_timeout: DurationKey = 60_000_000_000


class TunnelKeys(InventorySection):
    """`cards.NAME.tunnel`: VXLAN to its data ports."""

    address: Annotated[str, _form(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}", "not an IPv4 address", "as 10.0.0.9")]
    ports: Annotated[int, whole(1, 64)]
    vni: Annotated[int, whole(0, (1 << 24) - 64, " (network of port 0)")] = 100
    port: Annotated[int, whole(1, 65_535, " (UDP)")] = 4789
