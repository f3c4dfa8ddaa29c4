"""What an emulated lab looks like: names, addresses, keys, and the inventory that describes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from switch_nodes.fpga.cards import EMULATED, RTL
from topologies import format_ip, host_ip

__all__ = [
    "BASE",
    "BITSTREAM",
    "CARD",
    "CARD_HOST",
    "CARD_LIBRARY",
    "CARD_SOCKET",
    "CARD_TRACE",
    "PYTHON",
    "RTL_DILATION",
    "USER",
    "LabShape",
    "inventory_text",
    "site_packages",
    "with_faults",
]

USER = "lab"
BASE = "/run/ina-lab"
PYTHON = "/run/host/bin/python3"
CARD, CARD_HOST = "fpga0", "f1"
BITSTREAM = "card.bit"
CARD_SOCKET, CARD_TRACE = "/run/ina-card/fpga0.sock", "/run/ina-card/fpga0"
CARD_LIBRARY = "/run/host/card.so"
RTL_DILATION = 50
"""a simulated card takes a real second for some 350 frames: as many per emulated second as links of 100 Mb/s carry"""
CONNECT_TIMEOUT = "20s"
"""all hosts share this machine's processors, which may have other work"""
_MANAGEMENT = "10.98.0."
"""addresses of a network that exists in namespaces of the lab only"""
GATEWAY = 254


@dataclass(frozen=True, slots=True)
class LabShape:
    name: str = "emulated"
    hosts: int = 4
    """workers; at most 32"""
    card: bool = True
    tunnels: bool = False
    """whether the card's data ports are VXLAN tunnels to the clients' side instead of cables to workers; then there are
    no workers"""
    mtu: int = 9000
    disk_bytes: int = 256 << 20
    """bytes of each host's folder"""
    clock_offsets: tuple[tuple[str, float], ...] = ()
    """(host, seconds): whose clocks are wrong"""
    card_load_ms: int = 100
    """time to load a bitstream"""
    card_faults: tuple[str, ...] = ()
    """faults as `switch_nodes.fpga.faults` reads them"""
    card_kind: str = EMULATED
    """of `CARD_KINDS` (`switch_nodes.fpga.cards`); `rtl`: the card in hardware, simulated"""

    @property
    def dilation(self) -> int:
        """Real seconds per second of the lab's time."""
        return RTL_DILATION if self.card and self.card_kind == RTL else 1

    @property
    def workers(self) -> tuple[str, ...]:
        if self.tunnels:
            return ()
        return tuple(f"h{number}" for number in range(1, self.hosts + 1))

    @property
    def all_hosts(self) -> tuple[str, ...]:
        return (*self.workers, *([CARD_HOST] if self.card else []))

    def address(self, host: str) -> str:
        return _MANAGEMENT + str(self.all_hosts.index(host) + 1)

    @property
    def gateway(self) -> str:
        """Where clients are."""
        return _MANAGEMENT + str(GATEWAY)

    def data_address(self, host: str) -> bytes:
        return host_ip(self.workers.index(host) + 1)


def inventory_text(shape: LabShape, namespace: str, power: list[str]) -> str:
    """`namespace`: of the clients' side of the management network; `power`: a command, to which a host's name is
    added."""
    lines = [
        f"name: {shape.name}",
        f"dilation: {shape.dilation}",
        "known_hosts: known_hosts",
        "defaults:",
        f"  user: {USER}",
        "  key: {file: id_ed25519}",
        f"  namespace: {namespace}",
        f"  base: {BASE}",
        f"  connect_timeout: {CONNECT_TIMEOUT}",
        f"  python: {PYTHON}",
        "  packages: host",
        "hosts:",
    ]
    for host in shape.all_hosts:
        command = ", ".join(f'"{word}"' for word in [*power, host])
        lines += [f"  {host}:", f"    address: {shape.address(host)}", f"    power: {{cycle: [{command}]}}"]
        if host in shape.workers:
            lines.append(
                f"    interfaces: {{data: {{device: d0, mtu: {shape.mtu}, "
                f"switch_port: {CARD}/{shape.workers.index(host)}}}}}"
            )
            lines.append(f"    # {format_ip(shape.data_address(host))} on its data interface")
    if shape.card:
        ports = ", ".join(f"{host}.data" for host in shape.workers)
        lines += [
            "cards:",
            f"  {CARD}:",
            f"    host: {CARD_HOST}",
            f"    transport: unix:{CARD_SOCKET}",
            f"    bitstream: {BITSTREAM}",
            f"    trace: {CARD_TRACE}",
            f"    cables: {CARD_TRACE}.cables",
            f"    tunnel: {{address: {shape.address(CARD_HOST)}, ports: {shape.hosts}}}"
            if shape.tunnels
            else f"    ports: [{ports}]",
        ]
    if shape.workers:
        lines += ["groups:", f"  workers: [{', '.join(shape.workers)}]"]
    return "\n".join(lines) + "\n"


def with_faults(card: tuple[str, ...], faults: str) -> tuple[str, ...]:
    """The command line of the card's process (`card.card_command`) with other faults; `none`: a sound card."""
    return (*card[:7], "" if faults == "none" else faults, *card[8:])


def site_packages() -> Path:
    """Of the interpreter that runs us: where the packages are that hosts need."""
    import numpy

    return Path(numpy.__file__).resolve().parent.parent
