from __future__ import annotations

from switch_nodes.steering.rules import FLOOD, FlowMatch, FlowRule
from testbed.steering.entries import FlowEntry, GroupEntry, make_table
from topologies import host_ip, host_mac


def test_a_steering_rule_matches_with_its_prerequisites_before_it() -> None:
    match = FlowMatch(in_port=0, ip_src=host_ip(1), ip_dst=host_ip(2), dscp=26, udp_dst=4791)
    [entry] = make_table([FlowRule("steer-h1-h2", 200, match, (5,))], (), 0).flows
    assert entry.match == (
        ("in_port", 1),
        ("eth_type", 0x800),
        ("ipv4_src", "10.77.0.2"),
        ("ipv4_dst", "10.77.0.3"),
        ("ip_dscp", 26),
        ("ip_proto", 17),
        ("udp_dst", 4791),
    )
    assert (entry.priority, entry.ports, entry.group) == (200, (6,), 0)


def test_equal_ports_are_one_group_for_all_rules() -> None:
    rules = [FlowRule(f"host-h{n}", 100, FlowMatch(eth_dst=host_mac(n)), (2, 3)) for n in (1, 2)]
    table = make_table(rules, (), 7)
    assert table.groups == (GroupEntry((3, 4), 7),)
    assert {flow.group for flow in table.flows} == {table.groups[0].number}
    assert GroupEntry((3, 4), 8).number != table.groups[0].number


def test_no_output_is_a_drop() -> None:
    [entry] = make_table([FlowRule("x", 1, FlowMatch(), ())], (), 0).flows
    assert (entry.ports, entry.group) == ((), 0)


def test_floods_enter_and_leave_on_the_tree_only() -> None:
    table = make_table([FlowRule("flood", 10, FlowMatch(), (FLOOD,))], (0, 2), 0)
    by_name = {flow.name: flow for flow in table.flows}
    assert by_name["flood-0"].match == (("in_port", 1),)
    assert by_name["flood-0"].ports == (3,)
    assert by_name["flood-2"].ports == (1,)
    assert by_name["flood-not"].priority > by_name["flood-0"].priority
    assert by_name["flood-not"].ports == ()
    assert len(table.flows) == 3


def test_a_cookie_is_the_content() -> None:
    entry = FlowEntry("a", 1, (("in_port", 1),), (2,))
    others = [
        FlowEntry("b", 1, (("in_port", 1),), (2,)),
        FlowEntry("a", 2, (("in_port", 1),), (2,)),
        FlowEntry("a", 1, (("in_port", 2),), (2,)),
        FlowEntry("a", 1, (("in_port", 1),), (3,)),
        FlowEntry("a", 1, (("in_port", 1),), (), 2),
    ]
    assert entry.cookie == FlowEntry("a", 1, (("in_port", 1),), (2,)).cookie
    assert len({entry.cookie, *(other.cookie for other in others)}) == 6
