"""The rules of a commodity switch with an accelerator beside it."""

import pytest

from switch_nodes.steering.layout import HostEntry, SteeredEdge, SteeringConfig
from switch_nodes.steering.rules import FLOOD, FlowMatch, FlowRule
from switch_nodes.steering.steer import Priority, falls_back, steering_rules
from topologies import host_ip, host_mac

DSCP = 26


def ring_of(size: int) -> SteeringConfig:
    """Hosts on ports 0 .. size-1, the accelerator on the next two."""
    hosts = tuple(HostEntry(f"h{n + 1}", host_mac(n + 1), (n,)) for n in range(size))
    edges = tuple(
        SteeredEdge(f"e{n}", host_ip(n + 1), host_ip((n + 1) % size + 1), (n,), size + n % 2) for n in range(size)
    )
    return SteeringConfig(hosts, edges, (size, size + 1), DSCP)


def decide(rules: tuple[FlowRule, ...], **frame: object) -> FlowRule | None:
    """The rule for a frame with these fields; a field that is not given, it does not have."""
    fits = [
        rule
        for rule in rules
        if all(
            getattr(rule.match, name) in (None, frame.get(name))
            for name in ("in_port", "eth_dst", "ip_src", "ip_dst", "dscp", "udp_dst")
        )
    ]
    best = max((rule.priority for rule in fits), default=0)
    found = [rule for rule in fits if rule.priority == best]
    assert len(found) <= 1, "two rules of one priority match"
    return found[0] if found else None


def packet(source: int, destination: int, **changes: object) -> dict[str, object]:
    """INA data between hosts (from 0), as it comes from its host."""
    return {
        "in_port": source,
        "eth_dst": host_mac(destination + 1),
        "ip_src": host_ip(source + 1),
        "ip_dst": host_ip(destination + 1),
        "dscp": DSCP,
        "udp_dst": 4791,
    } | changes


@pytest.mark.parametrize("size", [2, 3, 6])
def test_data_of_each_edge_goes_through_its_port_and_then_to_its_destination(size: int) -> None:
    rules = steering_rules(ring_of(size))
    for rank in range(size):
        successor, port = (rank + 1) % size, size + rank % 2
        rule = decide(rules, **packet(rank, successor))
        assert rule == FlowRule(
            f"steer-e{rank}",
            Priority.STEER,
            FlowMatch(rank, None, host_ip(rank + 1), host_ip(successor + 1), DSCP, 4791),
            (port,),
        )
        for back in (size, size + 1):
            again = decide(rules, **packet(rank, successor, in_port=back))
            assert again is not None
            assert again.outputs == (successor,)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"dscp": 0}, id="ack or other traffic"),
        pytest.param({"dscp": 48}, id="cnp"),
        pytest.param({"udp_dst": 4790}, id="another port"),
        pytest.param({"udp_dst": None}, id="tcp"),
        pytest.param({"in_port": 2}, id="another host's port"),
        pytest.param({"ip_src": host_ip(3)}, id="another sender"),
        pytest.param({"ip_dst": host_ip(3)}, id="no edge"),
    ],
)
def test_everything_else_passes_by(changes: dict[str, object]) -> None:
    rule = decide(steering_rules(ring_of(3)), **packet(0, 1, **changes))
    assert rule is not None
    assert rule.outputs == (1,)


def test_between_two_hosts_only_the_dscp_tells_data_from_acks() -> None:
    rules = steering_rules(ring_of(2))
    data, ack = decide(rules, **packet(1, 0)), decide(rules, **packet(1, 0, dscp=0))
    assert data is not None
    assert ack is not None
    assert (data.outputs, ack.outputs) == ((3,), (0,))


def test_floods_come_from_hosts_and_never_from_the_accelerator() -> None:
    rules, broadcast = steering_rules(ring_of(3)), b"\xff" * 6
    from_host, from_accelerator = (
        decide(rules, in_port=1, eth_dst=broadcast),
        decide(rules, in_port=4, eth_dst=broadcast),
    )
    assert from_host is not None
    assert from_accelerator is not None
    assert (from_host.outputs, from_accelerator.outputs) == ((FLOOD,), ())


@pytest.mark.parametrize("down", [(3,), (4,), (3, 4)])
def test_a_dead_accelerator_port_drops_all_data_of_the_job_and_nothing_else(down: tuple[int, ...]) -> None:
    config = ring_of(3)
    assert falls_back(config, down)
    rules, usual = steering_rules(config, down), steering_rules(config)
    assert [rule for rule in rules if rule.priority < Priority.STEER] == [
        rule for rule in usual if rule.priority < Priority.STEER
    ]
    for rank in range(3):
        data, plain = packet(rank, (rank + 1) % 3), packet(rank, (rank + 1) % 3, dscp=0)
        dropped, passed = decide(rules, **data), decide(rules, **plain)
        assert dropped is not None
        assert passed is not None
        assert (dropped.name, dropped.outputs, passed.outputs) == (f"fallback-e{rank}", (), ((rank + 1) % 3,))


def test_a_dead_host_port_is_no_reason_to_fall_back_and_floods_nothing() -> None:
    config = ring_of(3)
    assert not falls_back(config, (1,))
    rule = decide(steering_rules(config, (1,)), **packet(0, 1, dscp=0))
    assert rule is not None
    assert (rule.name, rule.outputs) == ("host-h2", ())


def test_equal_ports_are_kept_but_for_dead_ones_and_each_has_a_redirect() -> None:
    far = HostEntry("h9", host_mac(9), (0, 1))
    near = HostEntry("h1", host_mac(1), (2,))
    edge = SteeredEdge("h9-h1", host_ip(9), host_ip(1), far.ports, 3)
    config = SteeringConfig((far, near), (edge,), (3,), DSCP)
    names = {rule.name: rule for rule in steering_rules(config)}
    assert names["host-h9"].outputs == (0, 1)
    assert (names["steer-h9-h1-0"].match.in_port, names["steer-h9-h1-1"].match.in_port) == (0, 1)
    rerouted = {rule.name: rule for rule in steering_rules(config, (0,))}
    assert rerouted["host-h9"].outputs == (1,)


def test_names_are_unique_and_priorities_descend() -> None:
    for down in ((), (4,)):
        rules = steering_rules(ring_of(4), down)
        assert len({rule.name for rule in rules}) == len(rules)
        assert [rule.priority for rule in rules] == sorted((rule.priority for rule in rules), reverse=True)
