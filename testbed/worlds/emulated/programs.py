"""What runs inside a node process: the Machine that the plan wants, on a data plane. Its parts are imported late: the
orchestrator loads them once before it forks (`preload`); whatever else imports this module needs none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from testbed.faults.model import RateChange
from testbed.plan import udp_ends
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.own_code import blame
from testbed.worlds.base import NODE_LIBRARIES
from testbed.worlds.emulated.control import NodeChannel
from testbed.worlds.emulated.devices import build_device_host, device_of
from testbed.worlds.emulated.dilation import KernelShape, clock_of, is_exact, kernel_shape, slack_ns
from testbed.worlds.emulated.node import NodeLoop, NodeTask
from testbed.worlds.sampling import port_names
from topologies import Link, Role, Topology
from workloads.livelock import Livelock
from workloads.machine import Event, Machine
from workloads.native.account import NATIVE, account_of

if TYPE_CHECKING:
    from switch_nodes.config import SwitchConfig
    from switch_nodes.dataplane import DataPlane, EgressMarking, EmulatedClock
    from testbed.captures.capture import PcapngTap
    from testbed.worlds.emulated.lossless.machine import LosslessMachine

__all__ = ["build_node", "capture_path"]

_UDP_TIMEOUT_NS = 1_000_000
"""a source of datagrams wakes up at most a thousand times a second of the machine"""


def node_backend() -> str:
    """What a node process runs: `native` only when everything that it may take from the C core is there."""
    from switch_nodes.dataplane.native_io import native_library

    if native_library() is None:
        return "python"
    return NATIVE if account_of(NODE_LIBRARIES) == NATIVE else "native packet I/O, python programs"


class _Program(Machine, Protocol):
    def finish(self, now: int) -> None:
        """Queue the last events."""
        ...


class _Loop:
    """A NodeLoop."""

    def __init__(
        self,
        machine: _Program,
        plane: DataPlane,
        tap: PcapngTap | None,
        clock: EmulatedClock,
        check_event: Callable[[Event], None] = lambda event: None,
        own: str = "",
    ) -> None:
        """`own`: the protocol of a host, whose code may be the user's."""
        self.backend, self._own = node_backend(), own
        self._machine, self._plane, self._tap, self._clock = machine, plane, tap, clock
        self._stopped_at, self._check_event = 0, check_event

    def run(self, origin_ns: int) -> None:
        with blame(self._own, "protocol"):
            try:
                self._plane.run(origin_ns)
            except Livelock as error:
                from switch_nodes.own_program import accused

                raise accused(error, self._machine) from error
        self._stopped_at = self._clock.since(origin_ns)

    def finish(self) -> Iterator[tuple[int, Event]]:
        self._machine.finish(self._stopped_at)
        while (event := self._machine.next_event()) is not None:
            self._check_event(event)
            yield self._stopped_at, event
        self._plane.close()
        if self._tap is not None:
            self._tap.close()


def capture_path(run_dir: Path, switch: str) -> Path:
    return run_dir / f"{switch}.pcapng"


def build_node(task: NodeTask, channel: NodeChannel) -> NodeLoop:
    """Raises ScenarioError and HostCapabilityError as the parts do."""
    if device_of(task.plan, task.node.name) is not None:
        return build_device_host(task, channel)
    return _build_host(task, channel) if task.node.role is Role.HOST else _build_switch(task, channel)


def _build_host(task: NodeTask, channel: NodeChannel) -> _Loop:
    from switch_nodes.dataplane import DataPlane, Pacer, PlaneControl, PlaneTiming, PortStages, moderation_ns
    from testbed.worlds.emulated.marking import make_wires
    from workloads.background import with_flows
    from workloads.hosts import create_host

    worker, protocol = None, task.plan.scenario.job.protocol
    for known in task.plan.hosts:
        if known.name == task.node.name:
            with blame(protocol, "protocol"):
                worker = create_host(known.reborn(task.lives))
    clock = clock_of(task.plan.scenario)
    timeout_ns = clock.emulated(_UDP_TIMEOUT_NS)
    machine = with_flows(worker, *udp_ends(task.plan.background, task.node.name, timeout_ns=timeout_ns))
    if task.plan.scenario.pfc is not None:
        from testbed.worlds.emulated.lossless.nodes import lossless_host

        lossless = lossless_host(task.plan, task.node.name, lambda: machine, slack_ns(clock))
        return _Loop(lossless, _lossless_plane(lossless, task, channel, clock), None, clock, own=protocol)
    (_, link, _), *_ = task.plan.scenario.topology.ports(task.node.name)
    fastest_bps = _fastest_rate_bps(task.plan.scenario, link)
    exact = is_exact(task.plan)
    shape = kernel_shape(clock, fastest_bps, link.shape.mtu, exact=False)  # behind a host, as `Network.kept`
    ahead_ns = 0 if exact else shape.ahead_ns
    plane = DataPlane(
        machine,
        task.interfaces,
        PlaneControl(channel.on_event, control=channel.socket, on_control=channel.on_control),
        backpressure=True,
        stages=PortStages(wires=make_wires(task.plan.scenario, task.node.name) if exact else {}),
        timing=PlaneTiming(
            clock,
            fastest_bps,
            pacer=Pacer(shape.emulated_bps, shape.burst_bytes, ahead_ns),
            moderation_ns=moderation_ns(ahead_ns),
        ),
        name=task.node.name,
    )
    return _Loop(machine, plane, None, clock, own=protocol)


def _lossless_plane(machine: LosslessMachine, task: NodeTask, channel: NodeChannel, clock: EmulatedClock) -> DataPlane:
    """Frames leave the Machine when they leave the port, so that nothing here holds them back."""
    from switch_nodes.dataplane import DataPlane, PlaneControl, PlaneTiming

    return DataPlane(
        machine,
        task.interfaces,
        PlaneControl(channel.on_event, control=channel.socket, on_control=channel.on_control),
        backpressure=False,
        timing=PlaneTiming(clock),
        name=task.node.name,
    )


def _build_lossless_switch(task: NodeTask, channel: NodeChannel, config: SwitchConfig, tap: PcapngTap | None) -> _Loop:
    from testbed.worlds.emulated.lossless.nodes import lossless_switch

    clock = clock_of(task.plan.scenario)
    machine = lossless_switch(task.plan, config, tap, slack_ns(clock))
    channel.on_sample = machine.sample
    return _Loop(machine, _lossless_plane(machine, task, channel, clock), tap, clock)


def _fastest_rate_bps(scenario: Scenario, link: Link) -> int:
    """The highest rate that the link has in the whole run: the qdisc knows which one it has now, the NIC does not."""
    changed = [
        fault.rate_bps for fault in scenario.faults if isinstance(fault, RateChange) and link.name in fault.links
    ]
    return max(link.shape.rate_bps, *changed) if changed else link.shape.rate_bps


def _sample(machine: Machine, marking: EgressMarking | None, topology: Topology, switch: str) -> Event | None:
    """What the switch holds. None: there is nothing to report."""
    from switch_nodes.events import SwitchSampled
    from switch_nodes.program import slots_of

    names = port_names(topology, switch)
    marks = {} if marking is None else {names[port]: count for port, count in marking.marks.items()}
    slots = slots_of(machine)
    return SwitchSampled(slots, marks) if marks or slots is not None else None


def _switch_moderation_ns(shape: KernelShape) -> int:
    """Half of a NIC's: a frame waits for both."""
    from switch_nodes.dataplane import moderation_ns

    return moderation_ns(shape.ahead_ns) // 2


def _build_switch(task: NodeTask, channel: NodeChannel) -> _Loop:
    from switch_nodes.dataplane import DataPlane, PlaneControl, PlaneTiming, PortStages
    from switch_nodes.own_program import check_told
    from switch_nodes.registry import create_program
    from testbed.captures.capture import PcapngTap
    from testbed.plan.filters import make_filters
    from testbed.worlds.emulated.marking import make_marking, make_wires

    scenario, name = task.plan.scenario, task.node.name
    config = next(switch for switch in task.plan.switches if switch.name == name)
    ingress, egress = make_filters(task.plan, name)
    ports, tap = sorted(scenario.topology.ports(name), key=lambda entry: entry[0]), None
    if scenario.capture:
        tap = PcapngTap(capture_path(task.run_dir, name), [link.name for _, link, _ in ports])
    if scenario.pfc is not None:
        return _build_lossless_switch(task, channel, config, tap)
    machine = create_program(config)
    check_event = partial(check_told, machine)
    clock, exact = clock_of(scenario), is_exact(task.plan)
    marking = make_marking(scenario, name, channel.on_event, exact=exact)
    channel.on_sample = partial(_sample, machine, marking, scenario.topology, name)
    shapes = [kernel_shape(clock, link.shape.rate_bps, link.shape.mtu, exact=exact) for _, link, _ in ports]
    plane = DataPlane(
        machine,
        task.interfaces,
        PlaneControl(channel.on_event, check_event, channel.socket, channel.on_control),
        backpressure=False,
        stages=PortStages(ingress, egress, tap, marking, make_wires(scenario, name) if exact else {}),
        timing=PlaneTiming(clock, moderation_ns=0 if exact else min(_switch_moderation_ns(shape) for shape in shapes)),
        name=task.node.name,
    )
    return _Loop(machine, plane, tap, clock, check_event)
