"""Which backend serves what, and what is refused on which machine."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from testbed.faults.backends import (
    Assignment,
    FaultCapabilities,
    choose_backends,
    describe,
    probe_fault_capabilities,
)
from testbed.faults.model import (
    Burst,
    Delay,
    Drop,
    Duplicate,
    Fault,
    Kill,
    Loss,
    Match,
    RateChange,
    Reorder,
    Window,
)
from testbed.plan import Plan
from tests.support.roce_frames import rack_plan
from topologies import Direction, LinkShape
from workloads.errors import HostCapabilityError, InternalError

LINK = ("h1-s1",)
UP = (Direction.UP,)
NO_EBPF = HostCapabilityError("clang", "install clang")
NO_NETEM = HostCapabilityError("netem", "load sch_netem")
ALL = FaultCapabilities()


def foreign(*faults: Fault, shape: LinkShape | None = None) -> Plan:
    """A rack whose switch is none of ours (a bridge, an FPGA)."""
    return replace(rack_plan(faults, shape=shape), switches=())


def one(fault: Fault, capabilities: FaultCapabilities = ALL) -> Assignment:
    (assignment,) = choose_backends(foreign(fault), capabilities)
    return assignment


def test_a_switch_of_ours_serves_all_of_its_links() -> None:
    plan = rack_plan([Loss("a", LINK), Reorder("b", LINK, UP), Kill("k", "s1"), RateChange("r", LINK, UP, Window(), 1)])
    assert choose_backends(plan, FaultCapabilities(NO_EBPF, NO_NETEM)) == (
        Assignment("a", "h1-s1", "up", "user", "s1"),
        Assignment("a", "h1-s1", "down", "user", "s1"),
        Assignment("b", "h1-s1", "up", "user", "s1"),
        Assignment("k", "s1", "", "signal", "s1"),
        Assignment("r", "h1-s1", "up", "netlink", "h1"),
    )


def test_in_virtual_time_nothing_is_asked_of_the_machine() -> None:
    plan = foreign(Reorder("b", LINK, match=Match(message=1)), Kill("k", "s1"), shape=LinkShape(delay_ns=5))
    found = choose_backends(plan, FaultCapabilities(NO_EBPF, NO_NETEM), virtual=True)
    assert {item.backend for item in found} == {"virtual"}
    assert len(found) == 2 + 1 + 4


def test_the_receiving_side_of_a_foreign_link_by_ebpf() -> None:
    assert one(Loss("a", LINK, UP)) == Assignment("a", "h1-s1", "up", "ebpf", "s1")
    assert one(Loss("a", LINK, (Direction.DOWN,))) == Assignment("a", "h1-s1", "down", "ebpf", "h1")


def test_netem_where_chance_is_enough_at_the_sending_side() -> None:
    assert one(Reorder("a", LINK, UP)) == Assignment("a", "h1-s1", "up", "netem", "h1")
    assert one(Loss("a", LINK, UP), FaultCapabilities(ebpf=NO_EBPF)).backend == "netem"


def test_seventeen_faults_are_too_many_for_ebpf() -> None:
    faults = [Loss(f"f{n}", LINK, UP) for n in range(17)]
    with pytest.raises(HostCapabilityError) as refused:
        choose_backends(foreign(*faults), ALL)
    assert str(refused.value) == (
        "this machine lacks a backend for all faults of link h1-s1 up: fault f1: one netem qdisc takes one `loss`; end the "
        "link at a switch node of the testbed"
    )
    assert {item.backend for item in choose_backends(foreign(*faults[1:]), ALL)} == {"ebpf"}


@pytest.mark.parametrize(
    ("fault", "capabilities", "message"),
    [
        (
            Loss("a", LINK, UP),
            FaultCapabilities(NO_EBPF, NO_NETEM),
            (
                "this machine lacks clang and netem, needed as fault a on link h1-s1, which ends at no switch of ours; install "
                "clang or load sch_netem"
            ),
        ),
        (
            Drop("a", LINK, UP, match=Match(attempt=1)),
            FaultCapabilities(ebpf=NO_EBPF),
            "this machine lacks clang, needed as fault a on link h1-s1, which ends at no switch of ours; install clang",
        ),
        (
            Delay("a", LINK, UP, delay_ns=1),
            FaultCapabilities(netem=NO_NETEM),
            "this machine lacks netem, needed as fault a on link h1-s1, which ends at no switch of ours; load sch_netem",
        ),
        (
            Duplicate("a", LINK, UP, delay_ns=1),
            ALL,
            (
                "this machine lacks a backend for fault a on link h1-s1, which ends at no switch of ours: eBPF cannot hold a "
                "packet back; netem does not delay copies; end the link at a switch node of the testbed"
            ),
        ),
    ],
)
def test_what_the_machine_lacks_is_refused(fault: Fault, capabilities: FaultCapabilities, message: str) -> None:
    with pytest.raises(HostCapabilityError) as refused:
        choose_backends(foreign(fault), capabilities)
    assert str(refused.value) == message


def test_link_delay_needs_a_backend_too() -> None:
    shape = LinkShape(delay_ns=5)
    user = choose_backends(rack_plan(shape=shape), FaultCapabilities(NO_EBPF, NO_NETEM))
    assert [(item.fault, item.target, item.direction, item.backend) for item in user][:2] == [
        ("", "h1-s1", "up", "user"),
        ("", "h1-s1", "down", "user"),
    ]
    assert choose_backends(foreign(shape=shape), ALL)[0] == Assignment("", "h1-s1", "up", "netem", "h1")
    with pytest.raises(
        HostCapabilityError, match=r"^this machine lacks netem, needed as link h1-s1 has a delay and ends"
    ):
        choose_backends(foreign(shape=shape), FaultCapabilities(netem=NO_NETEM))


def test_a_kind_without_a_backend_is_not_forgotten() -> None:
    with pytest.raises(InternalError, match=r"^no backend for Fault$"):
        choose_backends(rack_plan([Fault("odd")]), ALL)


def test_describe() -> None:
    plan = foreign(Burst("b", LINK), Reorder("r", LINK, UP), Kill("k", "s1"))
    assert describe(choose_backends(plan, ALL)) == [
        "b: eBPF on ingress of s1 (h1-s1 up)",
        "b: eBPF on ingress of h1 (h1-s1 down)",
        "r: netem at h1 (by chance, not by identity) (h1-s1 up)",
        "k: signals to s1 (s1)",
    ]
    both = choose_backends(rack_plan([Loss("a", LINK)], shape=LinkShape(delay_ns=1), hosts=2), ALL)
    assert describe(both) == [
        "a: user-space ports of s1 (h1-s1 up, h1-s1 down)",
        "link delay: user-space ports of s1 (h1-s1 up, h1-s1 down, h2-s1 up, h2-s1 down)",
    ]


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_probe_asks_this_machine_and_leaves_nothing() -> None:
    before = os.readlink("/proc/thread-self/ns/net")
    found = probe_fault_capabilities()
    assert found.ebpf is None or "eBPF" in str(found.ebpf) or "bpf" in str(found.ebpf)
    assert found.netem is None or found.netem.missing == "the netem qdisc"
    assert os.readlink("/proc/thread-self/ns/net") == before
