"""The rack of a measurement for programs on the kernel's own stack. Links are shaped as in a run of ours, and a Linux
bridge is where our switch would be. Losses are made by eBPF where frames arrive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.doctor import require
from testbed.faults.ebpf import EbpfFaults
from testbed.faults.matching import ConnectionTable
from testbed.faults.model import Loss
from testbed.faults.way import LinkWay
from testbed.kernel.interruption import Interruption
from testbed.kernel.ledger import Ledger, LinkEntry
from testbed.kernel.links import UP, set_flags
from testbed.kernel.namespaces import inside, namespace_inode
from testbed.kernel.scratch import scratch
from testbed.worlds.emulated.ledgers import own_ledger
from testbed.worlds.emulated.world import NEEDS
from topologies import DIRECTIONS, Direction, Topology, format_ip
from workloads.errors import InternalError

if TYPE_CHECKING:
    from testbed.worlds.emulated.network import Network

__all__ = ["Losses", "PeerNetwork", "open_network"]

_BRIDGE = "bridge"
_NO_METRICS = Path("/proc/sys/net/ipv4/tcp_no_metrics_save")


class Losses:
    """Of every link of a network, both ways; nothing is lost before `start`."""

    def __init__(self, programs: list[EbpfFaults]) -> None:
        self._programs = programs

    def start(self) -> None:
        now = time.monotonic_ns()
        for program in self._programs:
            program.start(now)

    @property
    def lost(self) -> int:
        """Frames so far. Raises InternalError when a program could not count all that came."""
        if any(program.uncounted for program in self._programs):
            raise InternalError("a link carried more different frames than the eBPF program can count")
        return sum(sum(program.strikes().values()) for program in self._programs)


class PeerNetwork:
    """What is up. `folder`: for files of the programs that run on it."""

    def __init__(self, network: Network, ledger: Ledger, folder: Path, interruption: Interruption) -> None:
        self._network, self._topology = network, network.topology
        self.ledger, self.folder, self.interruption = ledger, folder, interruption
        self.hosts = tuple(node.name for node in network.topology.hosts)
        self.ips = {node.name: format_ip(node.ip) for node in network.topology.hosts}

    def pid(self, host: str) -> int:
        """Of a process in its namespace."""
        return self._network.pid(host)

    def interface(self, host: str) -> str:
        [name] = self._network.interfaces(host)
        return name

    @contextmanager
    def losing(self, rate: float, seed: int) -> Iterator[Losses]:
        """Raises HostCapabilityError where the kernel or the compiler for eBPF is missing."""
        with ExitStack() as stack:
            programs = []
            for link in self._topology.links if rate else ():
                for direction in DIRECTIONS:
                    node, port = (link.b, link.b_port) if direction is Direction.UP else (link.a, link.a_port)
                    fault = Loss(f"loss-{seed}", rate=rate)
                    with inside(self._network.pid(node)):
                        program = EbpfFaults.attach(
                            self._network.interface(node, port),
                            LinkWay(seed, link.name, direction, ConnectionTable(())),
                            [fault],
                        )
                    stack.callback(self._detach, node, program)
                    programs.append(program)
            yield Losses(programs)

    def _detach(self, node: str, program: EbpfFaults) -> None:
        with inside(self._network.pid(node)):
            program.detach()


@contextmanager
def open_network(topology: Topology) -> Iterator[PeerNetwork]:
    """A rack. Raises HostCapabilityError, KeyboardInterrupt, and InternalError when something is left afterwards."""
    left: list[str] = []
    with scratch() as name, Interruption() as interruption:
        require(NEEDS)
        with own_ledger(name, left.extend) as ledger:
            from testbed.worlds.emulated.network import build

            network = build(topology, ledger, interruption.check)
            try:
                _bridge(network, ledger)
                for node in topology.hosts:
                    with inside(network.pid(node.name)):
                        # What one all-reduce learnt of a peer is not for the next one.
                        _NO_METRICS.write_text("1", encoding="ascii")
                yield PeerNetwork(network, ledger, name, interruption)
            finally:
                network.stop()
    if left:
        raise InternalError(f"left behind: {', '.join(left)}")


def _bridge(network: Network, ledger: Ledger) -> None:
    from pyroute2 import IPRoute

    [switch] = network.topology.switches
    pid = network.pid(switch.name)
    ledger.note(LinkEntry(_BRIDGE, namespace_inode(pid)))
    with inside(pid), IPRoute() as netlink:
        netlink.link("add", kind="bridge", ifname=_BRIDGE)
        [bridge] = netlink.link_lookup(ifname=_BRIDGE)
        for name in network.interfaces(switch.name):
            [port] = netlink.link_lookup(ifname=name)
            netlink.link("set", index=port, master=bridge)
        set_flags(netlink, bridge, UP)
