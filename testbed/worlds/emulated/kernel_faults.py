"""The faults that the kernel carries out, in the joints of links: put in place, started with the traffic, heard out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from switch_nodes.dataplane.clock import EmulatedClock
from testbed.faults.ebpf import EbpfFaults
from testbed.faults.matching import ConnectionTable
from testbed.faults.model import Delay, Duplicate, PacketFault, Reorder
from testbed.faults.netem import Netem, TcRunner, netem_arguments, run_command
from testbed.faults.way import LinkWay
from testbed.history.events import KernelFaultsUnseen
from testbed.plan import Plan
from testbed.scenario.transports import transports_of
from testbed.worlds.emulated.backends import Assignment, spliced_links
from testbed.worlds.emulated.dilation import clock_of
from testbed.worlds.emulated.splices import Splices
from topologies import DIRECTIONS, Direction, Link, LinkShape
from workloads.errors import HostCapabilityError
from workloads.machine import Event

__all__ = ["KernelFaults", "in_real_time", "pass_on"]


def in_real_time(fault: PacketFault, clock: EmulatedClock) -> PacketFault:
    """The fault as the kernel is to carry it out: what it holds back, it holds back by the machine's time."""
    match fault:
        case Delay():
            return replace(fault, delay_ns=clock.real(fault.delay_ns), jitter_ns=clock.real(fault.jitter_ns))
        case Duplicate() | Reorder():
            return replace(fault, delay_ns=clock.real(fault.delay_ns))
    return fault


def pass_on(came_in: str, leaves_by: str, runner: TcRunner = run_command) -> None:
    """All frames that come in at one interface leave by another, in the caller's namespace. Raises
    HostCapabilityError."""
    for command in (
        ["tc", "qdisc", "add", "dev", came_in, "clsact"],
        ["tc", "filter", "add", "dev", came_in, "ingress", "u32", "match", "u32", "0", "0",
         "action", "mirred", "egress", "redirect", "dev", leaves_by],
    ):  # fmt: skip
        status, output = runner(command)
        if status:
            raise HostCapabilityError(
                f"clsact, the u32 classifier or the mirred action of tc ({output.strip() or f'exit status {status}'})",
                "use a kernel with CONFIG_NET_CLS_U32 and CONFIG_NET_ACT_MIRRED, as root, and iproute2",
            )


class KernelFaults:
    """Of one run. Close it before the network goes."""

    def __init__(self, plan: Plan, assignments: Collection[Assignment], splices: Splices | None) -> None:
        """Puts all of it in place. No fault applies before `start`, but links delay. Raises HostCapabilityError and
        InternalError as the backends do."""
        self._clock = clock_of(plan.scenario)
        self._plan, self._programs, self._table = plan, list[EbpfFaults](), ConnectionTable(plan.connections)
        names = spliced_links(assignments)
        if splices is None:
            return
        try:
            with splices.inside():
                for link in plan.scenario.topology.links:
                    for direction in DIRECTIONS if link.name in names else ():
                        here = [
                            item for item in assignments if (item.target, item.direction) == (link.name, str(direction))
                        ]
                        self._equip(link, direction, here, splices.sides(link, direction))
        except BaseException:
            self.close()
            raise

    def _equip(self, link: Link, direction: Direction, here: Collection[Assignment], sides: tuple[str, str]) -> None:
        came_in, leaves_by = sides
        by_chance, by_identity = self._faults(here, "netem"), self._faults(here, "ebpf")
        own = link.shape if any(not item.fault and item.backend == "netem" for item in here) else LinkShape()
        if by_chance or own.delay_ns or own.jitter_ns:
            real = self._clock.real
            slowed = [in_real_time(fault, self._clock) for fault in by_chance]
            Netem(leaves_by, netem_arguments(slowed, delay_ns=real(own.delay_ns), jitter_ns=real(own.jitter_ns)))
        if not by_identity:
            pass_on(came_in, leaves_by)
            return
        scenario = self._plan.scenario
        way = LinkWay(scenario.seed, link.name, direction, self._table, transports_of(scenario))
        self._programs.append(
            EbpfFaults.attach(came_in, way, by_identity, onward=leaves_by, dilation=self._clock.dilation)
        )

    def _faults(self, here: Collection[Assignment], backend: str) -> list[PacketFault]:
        """In the order of the scenario."""
        names = {item.fault for item in here if item.backend == backend}
        return [fault for fault in self._plan.scenario.faults if isinstance(fault, PacketFault) and fault.name in names]

    def start(self, origin_ns: int) -> None:
        """`origin_ns`: t = 0 on CLOCK_MONOTONIC."""
        for program in self._programs:
            program.start(origin_ns)

    def events(self, now: int) -> Iterator[tuple[int, Event]]:
        """(when, what) since the last call; times are ns since the start."""
        for program in self._programs:
            yield from program.events(now)

    def shortfalls(self) -> Iterator[Event]:
        """What the programs could not do or tell, at the end."""
        for program in self._programs:
            if program.uncounted or program.undescribed:
                yield KernelFaultsUnseen(program.link, str(program.direction), program.uncounted, program.undescribed)

    def close(self) -> None:
        """The programs go with the interfaces of the joints; what is ours of them goes here."""
        for program in self._programs:
            program.close()
        self._programs.clear()
