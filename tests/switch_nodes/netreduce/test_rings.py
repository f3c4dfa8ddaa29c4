"""Several rings at one switch, and rings and options that cannot be installed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.config import RingMember
from switch_nodes.events import SlotsAtEnd
from switch_nodes.netreduce import NetReduceProgram
from tests.support.netreduce_harness import Bench, Job
from workloads.config import ArithmeticSpec
from workloads.errors import ScenarioError


def test_two_rings_share_a_switch() -> None:
    """The same hosts in two rings with different arithmetic, sizes of messages and QPNs; packets alternate."""
    one = Job(lengths=(1, 4, 4, 4, 4, 4))
    two = Job(
        lengths=(1, 2, 2, 2, 2, 2), message_packets=2, ring_id=9, base_qpn=0x200, seed=2, window=1,
        arithmetic=ArithmeticSpec("sum", "float32"),
    )  # fmt: skip
    first, second = Bench(one), Bench(two)
    config = replace(one.config(), rings=(one.ring(), two.ring()))
    first.program = second.program = NetReduceProgram(config)
    left, right = one.places(), two.places()
    while left or right:
        for bench, places in ((first, left), (second, right)):
            if places:
                place = places.pop(0)
                assert bench.everyone(*place) == bench.all_of(*place)
    first.program.finish(0)
    ends = [event for event in iter(first.program.next_event, None) if isinstance(event, SlotsAtEnd)]
    assert [(end.ring_id, end.slots, end.open) for end in ends] == [(7, 16, 0), (9, 4, 0)]


def test_rings_of_different_hosts_do_not_meet() -> None:
    one, two = Job(size=2, lengths=(1, 4)), Job(size=3, lengths=(1, 4), ring_id=9, first_port=2)
    two_ring = replace(
        two.ring(), members=tuple(replace(member, ip=bytes((10, 9, 0, member.rank))) for member in two.ring().members)
    )
    bench = Bench(one)
    bench.program = NetReduceProgram(replace(one.config(), ports=5, rings=(one.ring(), two_ring)))
    bench.run_through(2)
    assert not bench.program.rings[9].cursor.any()


def _members(*ips: bytes) -> tuple[RingMember, ...]:
    return tuple(RingMember(rank, ip, rank) for rank, ip in enumerate(ips))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"members": _members(b"\1\1\1\1")}, "number of members; found 1; allowed: 2 .. 64"),
        ({"members": _members(b"\1\1\1\1", b"\1\1\1\1")}, "two members have the same address; found"),
        ({"members": _members(b"\1\1\1\1", b"\2")}, "address lengths; found [4, 1]; allowed: all 4 or all 16 bytes"),
        ({"members": _members(b"1234", b"2345", b"3456", b"4567")}, "port of rank 3; found 3; allowed: 0 .. 2"),
        (
            {"members": _members(b"1234", b"2345")[::-1]},
            "members are not in rank order; found [1, 0]; allowed: 0, 1, 2",
        ),
        ({"ring_id": 65536}, "ring id; found 65536; allowed: 0 .. 65535"),
        ({"path_mtu": 1000}, "path MTU; found 1000; allowed: 256, 512, 1024, 2048, 4096"),
        ({"window_messages": 0}, "window; found 0 x 4; allowed: 1 .. messages of 1 .. 65535"),
        ({"message_packets": 0}, "window; found 2 x 0"),
        (
            {"arithmetic": ArithmeticSpec("mean", "float32")},
            "arithmetic; found mean of float32; allowed: sum, max, xor of",
        ),
        (
            {"window_messages": 100, "message_packets": 60000},
            "the connection table would span half of the PSNs; found 12060000; allowed: (2N+1) L below 8388608",
        ),
    ],
)
def test_rings_that_cannot_be_installed(changes: dict[str, object], message: str) -> None:
    job = Job()
    ring = replace(job.ring(), **changes)  # type: ignore[arg-type]
    with pytest.raises(ScenarioError) as caught:
        NetReduceProgram(job.config(rings=(ring,)))
    ring_id = changes.get("ring_id", 7)
    assert str(caught.value).startswith(f"scenario: switch s1: ring {ring_id}: {message}")


def test_options_that_do_not_exist() -> None:
    job = Job()
    with pytest.raises(ScenarioError, match="unknown release order; found never; allowed: order, asap"):
        NetReduceProgram(job.config(release="never"))
    with pytest.raises(ScenarioError, match="unknown gate; found door; allowed: window, epsn"):
        NetReduceProgram(job.config(gate="door"))
    with pytest.raises(ScenarioError, match="ring 7 is installed twice"):
        NetReduceProgram(job.config(rings=(job.ring(), job.ring())))
