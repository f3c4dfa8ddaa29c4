from __future__ import annotations

import pytest

from switch_nodes.config import SwitchConfig
from testbed.steering.controller import AddFlow, AddGroup, Barrier, Command, Controller, RemoveFlows, RemoveGroup
from testbed.steering.events import RulesInstalled, SwitchLost
from testbed.steering.fabric import Fabric, make_fabric
from tests.support.steering_driver import two_host_fabric
from topologies import LinkShape, spine_leaf

ALL_UP = dict.fromkeys(range(4), True)


class Switch:
    """Does what it is told, in order, as a switch would; refuses what a switch would refuse."""

    def __init__(self) -> None:
        self.flows: dict[tuple[object, int], AddFlow] = {}
        self.groups: set[int] = set()
        self.barriers: list[int] = []

    def do(self, command: Command) -> None:
        match command:
            case AddFlow(flow):
                assert not flow.group or flow.group in self.groups, "BAD_OUT_GROUP"
                self.flows[flow.match, flow.priority] = command
            case AddGroup(group):
                assert group.number not in self.groups, "GROUP_EXISTS"
                self.groups.add(group.number)
            case RemoveFlows(cookie):
                self.flows = {key: item for key, item in self.flows.items() if item.flow.cookie != cookie}
            case RemoveGroup(number):
                assert all(item.flow.group != number for item in self.flows.values()), "flows would go with it"
                self.groups.discard(number)
            case Barrier(number):
                self.barriers.append(number)

    @property
    def cookies(self) -> set[int]:
        return {item.flow.cookie for item in self.flows.values()}


class Network:
    def __init__(self, fabric: Fabric) -> None:
        self.controller = Controller(fabric)
        self.switches = {switch.datapath: Switch() for switch in fabric.switches}
        self.sent = 0

    def settle(self) -> list[RulesInstalled | SwitchLost]:
        while (found := self.controller.next_command()) is not None:
            datapath, command = found
            self.switches[datapath].do(command)
            self.sent += not isinstance(command, Barrier)
            if isinstance(command, Barrier):
                self.controller.barrier_passed(datapath, command.number)
        events = []
        while (event := self.controller.next_event()) is not None:
            assert isinstance(event, RulesInstalled | SwitchLost)
            events.append(event)
        return events

    def join(self, datapath: int, ports: int) -> list[RulesInstalled | SwitchLost]:
        switch = self.switches[datapath]
        self.controller.switch_joined(datapath, dict.fromkeys(range(ports), True), switch.cookies, switch.groups)
        return self.settle()


def spine_leaf_fabric() -> Fabric:
    topology = spine_leaf((1, 1), 2, LinkShape(), LinkShape())
    configs = [
        SwitchConfig(name=node.name, program="forward", ports=len(list(topology.ports(node.name))))
        for node in topology.switches
    ]
    return make_fabric(topology, configs)


def test_a_switch_that_is_right_is_not_touched() -> None:
    network = Network(two_host_fabric())
    network.join(1, 4)
    assert network.sent == 9
    again = Controller(two_host_fabric())
    again.switch_joined(1, ALL_UP, network.switches[1].cookies, network.switches[1].groups)
    commands = []
    while (found := again.next_command()) is not None:
        commands.append(found[1])
    assert [type(command) for command in commands] == [Barrier]


def test_strangers_are_removed() -> None:
    network = Network(two_host_fabric())
    network.controller.switch_joined(1, ALL_UP, {99}, {5})
    assert network.settle() == [RulesInstalled("s1", "connected", (), False, 0, 9, 1)]


def test_nothing_is_told_before_the_switch_has_answered() -> None:
    controller = Controller(two_host_fabric())
    controller.switch_joined(1, ALL_UP, (), ())
    assert controller.next_event() is None
    assert not controller.is_ready


def test_a_dead_accelerator_port_gives_the_fallback_and_its_return_ends_it() -> None:
    network = Network(two_host_fabric())
    network.join(1, 4)
    network.controller.port_changed(1, 3, False)
    assert network.settle() == [RulesInstalled("s1", "port 3 of s1 is down", (3,), True, 7, 2, 2)]
    outputs = {item.flow.name: item.flow.ports for item in network.switches[1].flows.values()}
    assert outputs["fallback-h1-h2"] == outputs["fallback-h2-h1"] == ()
    assert "steer-h1-h2" not in outputs
    network.controller.port_changed(1, 3, True)
    assert network.settle() == [RulesInstalled("s1", "port 3 of s1 is up", (), False, 7, 2, 2)]


def test_the_same_news_twice_is_no_news() -> None:
    network = Network(two_host_fabric())
    network.join(1, 4)
    network.controller.port_changed(1, 3, True)
    network.controller.port_changed(1, 17, False)
    network.controller.port_changed(9, 0, False)
    assert network.settle() == []


def test_flows_share_what_is_left_of_equal_ports_at_every_switch() -> None:
    network = Network(spine_leaf_fabric())
    for datapath, ports in ((1, 3), (2, 3), (3, 2), (4, 2)):
        network.join(datapath, ports)
    leaf1, leaf2 = network.switches[1], network.switches[2]
    assert network.controller.is_ready
    assert len(leaf1.groups) == len(leaf2.groups) == 1
    # Port 2 of leaf2 leads to spine2: leaf1 must not send there what goes to a host below leaf2.
    network.controller.port_changed(2, 2, False)
    told = {event.node for event in network.settle()}
    assert {"leaf1", "leaf2", "spine2"} <= told
    assert not leaf1.groups
    assert not leaf2.groups
    outputs = {item.flow.name: item.flow.ports for item in leaf1.flows.values()}
    assert outputs["host-h2"] == (2,)
    network.controller.port_changed(2, 2, True)
    network.settle()
    assert len(leaf1.groups) == 1


def test_a_host_that_nothing_leads_to_gets_nothing_and_floods_nowhere() -> None:
    network = Network(two_host_fabric())
    network.join(1, 4)
    network.controller.port_changed(1, 1, False)
    network.settle()
    outputs = {item.flow.name: item.flow.ports for item in network.switches[1].flows.values()}
    assert outputs["host-h2"] == ()
    assert outputs["flood-0"] == ()
    assert "flood-1" not in outputs


def test_a_lost_switch_is_told_and_starts_anew() -> None:
    network = Network(two_host_fabric())
    network.join(1, 4)
    network.controller.switch_left(1)
    assert network.settle() == [SwitchLost("s1")]
    assert not network.controller.is_ready
    network.controller.port_changed(1, 3, False)
    assert network.join(1, 3) == [RulesInstalled("s1", "connected", (3,), True, 7, 2, 2)]
    assert network.controller.is_ready


@pytest.mark.parametrize("datapath", [0, 2])
def test_foreign_switches_are_left_alone(datapath: int) -> None:
    controller = Controller(two_host_fabric())
    assert not controller.switch_joined(datapath, {}, {1, 2}, {3})
    assert controller.next_command() is None


def test_a_group_that_is_there_is_not_added_again() -> None:
    network = Network(spine_leaf_fabric())
    network.join(1, 3)
    sent = network.sent
    network.join(1, 3)
    assert network.sent == sent
