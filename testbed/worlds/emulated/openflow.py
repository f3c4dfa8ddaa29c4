"""The switches of a run that are Open vSwitch, and what faults do to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from testbed.captures.capture import PcapngTap
from testbed.doctor import require
from testbed.kernel.ledger import Ledger
from testbed.plan import Plan
from testbed.plan.commodity import openflow_switches
from testbed.scenario.model import CONTROLLER
from testbed.steering.fabric import make_fabric
from testbed.steering.openvswitch import OpenVSwitch
from testbed.worlds.emulated.carrier import end_at
from testbed.worlds.emulated.control import NodeChannel
from testbed.worlds.emulated.controller_node import CONTROLLER_PORT, ControllerLoop
from testbed.worlds.emulated.dilation import clock_of
from testbed.worlds.emulated.network import Network
from testbed.worlds.emulated.node import NodeBuilder, NodeLoop, NodeTask
from testbed.worlds.emulated.programs import capture_path
from testbed.worlds.emulated.sniffer import SnifferLoop
from topologies import Direction, Link, Node, Role
from workloads.errors import HostCapabilityError

__all__ = ["OpenFlowSwitches", "refuse_for_openflow"]

_NEEDS = ("ovs", "openflow")


class OpenFlowSwitches:
    """Of one run; `names` is empty when there are none, and then nothing here does anything."""

    def __init__(self, plan: Plan, network: Network, ledger: Ledger, run_dir: Path) -> None:
        self._plan, self._network, self._run_dir = plan, network, run_dir
        self.names = openflow_switches(plan)
        self._fabric = make_fabric(
            plan.scenario.topology, [config for config in plan.switches if config.name in self.names]
        )
        self._switches: dict[str, OpenVSwitch] = {}
        self._dark: dict[str, set[str]] = defaultdict(set)
        """why a link is down: names of faults"""
        for switch in self._fabric.switches:
            self._switches[switch.name] = OpenVSwitch(
                switch.name,
                switch.datapath,
                [
                    (network.interface(switch.name, port), link.shape.mtu, link.shape.queue_packets)
                    for port, link, _ in self._ports(switch.name)
                ],
                network.pid(switch.name),
                ledger,
                run_dir / "nodes" / f"{switch.name}.log",
            )

    def _ports(self, name: str) -> list[tuple[int, Link, Direction]]:
        return sorted(self._plan.scenario.topology.ports(name), key=lambda entry: entry[0])

    def start(self, check_interrupt: Callable[[], None]) -> None:
        if self.names:
            (self._run_dir / "nodes").mkdir(parents=True, exist_ok=True)
        for switch in self._switches.values():
            check_interrupt()
            switch.start(f"tcp:127.0.0.1:{CONTROLLER_PORT}")

    def controller(self, lives: int) -> tuple[NodeTask, int]:
        """(task, a process in the namespace that it starts in)"""
        node = Node(CONTROLLER, Role.SWITCH, bytes(6), b"")
        return NodeTask(self._plan, node, (), self._run_dir, lives), self._pids()[0]

    def _pids(self) -> list[int]:
        return [self._network.pid(switch.name) for switch in self._fabric.switches]

    def builder(self, build: NodeBuilder) -> NodeBuilder:
        """`build`, also for the controller and for what captures at its switches."""
        clock = clock_of(self._plan.scenario)

        def build_any(task: NodeTask, channel: NodeChannel) -> NodeLoop:
            if task.node.name == CONTROLLER and self.names:
                return ControllerLoop(self._fabric, self._pids(), channel, task.run_dir, clock)
            if task.node.name in self.names:
                links = [link.name for _, link, _ in self._ports(task.node.name)]
                tap = PcapngTap(capture_path(task.run_dir, task.node.name), links)
                return SnifferLoop(task.interfaces, tap, channel, clock)
            return build(task, channel)

        return build_any

    def is_alive(self, name: str) -> bool:
        return self._switches[name].is_alive

    def pause(self, name: str) -> bool:
        return self._switches[name].pause()

    def resume(self, name: str) -> None:
        self._switches[name].resume()

    def kill(self, name: str) -> None:
        self._switches[name].stop()

    def restart(self, name: str) -> None:
        self._switches[name].start(f"tcp:127.0.0.1:{CONTROLLER_PORT}")

    def cut(self, link: Link, fault: str) -> None:
        self._dark[link.name].add(fault)
        self._set_carrier(link, False)

    def mend(self, link: Link, fault: str) -> None:
        """The carrier returns with the last reason for its absence."""
        self._dark[link.name].discard(fault)
        if not self._dark[link.name]:
            self._set_carrier(link, True)

    def _set_carrier(self, link: Link, up: bool) -> None:
        end = end_at(link, self.names)
        assert end is not None, "only links of these switches are cut"
        self._network.set_state(*end, up=up)

    def check(self) -> None:
        """Raises InternalError when a daemon ended by itself."""
        for switch in self._switches.values():
            switch.check()

    def stop(self) -> None:
        for switch in self._switches.values():
            switch.stop()


def refuse_for_openflow(plan: Plan) -> None:
    """Raises HostCapabilityError for what an Open vSwitch cannot do for us, and when this machine has none. Which of
    its links can have which faults, `choose_backends` says."""
    names = openflow_switches(plan)
    if not names:
        return
    for link in plan.scenario.topology.links:
        if not {link.a, link.b} & names:
            continue
        if link.shape.trims:
            raise HostCapabilityError(
                f"a queue that trims at an Open vSwitch (topology.link.queue_full, asked for on {link.name})",
                "use switch.commodity: soft",
            )
        if link.shape.ecn_threshold_packets is not None:
            raise HostCapabilityError(
                f"a queue that marks at an Open vSwitch (topology.link.ecn_threshold, asked for on {link.name})",
                "use switch.commodity: soft",
            )
        for key, asked in (
            ("priority", link.shape.priority != "none"),
            ("drop_low_above", link.shape.drop_low_above_packets is not None),
        ):
            if asked:
                raise HostCapabilityError(
                    f"a queue that knows classes at an Open vSwitch (topology.link.{key}, asked for on {link.name})",
                    "use switch.commodity: soft",
                )
    require(_NEEDS)
