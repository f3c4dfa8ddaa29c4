"""Routes of a plan in a commodity switch: above its hosts, beside nothing else, and the same in every form."""

from __future__ import annotations

from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.registry import create_program
from switch_nodes.routes.layout import PlannedRoute
from switch_nodes.steering.layout import HostEntry, SteeringConfig
from switch_nodes.steering.steer import steering_rules
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.steering.entries import make_table
from testbed.steering.fabric import make_fabric
from tests.support.grid_star import ip, mac
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, Policy, encode_datagram

STEERING = SteeringConfig(
    (HostEntry("h1", mac(1), (1,)), HostEntry("h2", mac(2), (2,))),
    routes=(PlannedRoute("0-2", ip(2), (3,), ip(0)), PlannedRoute("all", ip(9), (1, 2, 3))),
)


def sent(port: int, source: int, goal: int, dst_mac: bytes, steering: SteeringConfig = STEERING) -> list[int]:
    program = create_program(SwitchConfig("s1", "steer", 4, steering=steering))
    header = AggregationHeader(Policy.GRID, 0, 7, 1, 0, 1, 1)
    frame = encode_datagram(Envelope(mac(source), dst_mac, ip(source), ip(goal)), AGGREGATION_PORT, header, b"")
    program.receive_frame(port, frame, 0)
    return [out for out, _ in program.frames_to_send(0)]


def test_a_route_is_before_the_way_of_its_destination() -> None:
    assert sent(0, 0, 2, mac(2)) == [3]
    assert sent(0, 1, 2, mac(2)) == [2]


def test_results_leave_as_copies_and_not_where_they_came_from() -> None:
    assert sent(0, 5, 9, bytes.fromhex("01005e000009")) == [1, 2, 3]
    assert sent(2, 5, 9, bytes.fromhex("01005e000009")) == [1, 3]


def test_a_dead_port_gets_no_copy_and_a_route_over_it_drops() -> None:
    rules = {rule.name: rule for rule in steering_rules(STEERING, (3,))}
    assert (rules["0-2"].outputs, rules["all"].outputs) == ((), (1, 2))


def test_the_controller_makes_one_entry_with_all_ports_of_a_copy_and_no_group() -> None:
    table = make_table(steering_rules(STEERING), (), 0)
    assert {flow.name: (flow.ports, flow.group) for flow in table.flows if flow.name in ("0-2", "all")} == {
        "0-2": ((4,), 0),
        "all": ((2, 3, 4), 0),
    }
    assert table.groups == ()


def test_both_installers_have_the_same_routes_of_one_plan() -> None:
    """An Open vSwitch under the controller holds what our own program looks up."""
    scenario = load_scenario("grid-openflow")
    plan = make_plan(scenario)
    direct = make_plan(replace(scenario, switch=replace(scenario.switch, commodity="soft")))
    (config,) = [config for config in plan.switches if config.program == "steer"]
    (own,) = [each for each in direct.switches if each.name == config.name]
    assert own.grid is not None
    fabric = make_fabric(scenario.topology, [config])
    entries = {
        (dict(flow.match).get("ipv4_src"), dict(flow.match)["ipv4_dst"]): flow.ports
        for flow in fabric.tables(())[config.name].flows
        if "ipv4_dst" in dict(flow.match)
    }
    routes = {
        (None if route.src_ip is None else ".".join(map(str, route.src_ip)), ".".join(map(str, route.dst_ip))): tuple(
            port + 1 for port in route.ports
        )
        for route in own.grid.orders[0].routes
    }
    assert entries == routes
    assert len(routes) > 8
