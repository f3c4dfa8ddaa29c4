"""Which backend serves what, and what is refused on which machine."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from testbed.faults.model import (
    Burst,
    Delay,
    Drop,
    Duplicate,
    Fault,
    Kill,
    LinkDown,
    Loss,
    Match,
    RateChange,
    Reorder,
    Window,
)
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario
from testbed.worlds.emulated.backends import (
    Assignment,
    FaultCapabilities,
    choose_backends,
    describe,
    probe_fault_capabilities,
    spliced_links,
)
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
    (assignment,) = chosen(foreign(fault), capabilities)
    return assignment


def chosen(plan: Plan, capabilities: FaultCapabilities) -> tuple[Assignment, ...]:
    return choose_backends(plan, lambda: capabilities)


def test_a_switch_of_ours_serves_all_of_its_links() -> None:
    plan = rack_plan([Loss("a", LINK), Reorder("b", LINK, UP), Kill("k", "s1"), RateChange("r", LINK, UP, Window(), 1)])
    assert chosen(plan, FaultCapabilities(NO_EBPF, NO_NETEM)) == (
        Assignment("a", "h1-s1", "up", "user", "s1"),
        Assignment("a", "h1-s1", "down", "user", "s1"),
        Assignment("b", "h1-s1", "up", "user", "s1"),
        Assignment("k", "s1", "", "signal", "s1"),
        Assignment("r", "h1-s1", "up", "netlink", "h1"),
    )


def never() -> FaultCapabilities:
    raise AssertionError("probed for nothing")


def test_the_machine_is_probed_where_a_link_ends_at_no_switch_of_ours() -> None:
    plan = rack_plan([Loss("a", LINK), Kill("k", "s1")], shape=LinkShape(delay_ns=5))
    assert {item.backend for item in choose_backends(plan, never)} == {"user", "signal"}
    with pytest.raises(AssertionError, match="probed for nothing"):
        choose_backends(foreign(Loss("a", LINK)), never)


def openflow(*faults: Fault) -> Plan:
    scenario = load_scenario("accelerator", ["switch.commodity=openflow"], world="emulated")
    return make_plan(replace(scenario, faults=faults))


def test_a_link_to_an_open_vswitch_has_a_joint_and_one_to_the_accelerator_has_not() -> None:
    faults = Loss("a", ("h1-s1", "s1-a1-1")), LinkDown("half", ("h2-s1",), UP, rate=0.5)
    assignments = chosen(openflow(*faults), ALL)
    assert assignments == (
        Assignment("a", "h1-s1", "up", "ebpf", "h1"),
        Assignment("a", "h1-s1", "down", "ebpf", "s1"),
        Assignment("a", "s1-a1-1", "up", "user", "a1"),
        Assignment("a", "s1-a1-1", "down", "user", "a1"),
        Assignment("half", "h2-s1", "up", "ebpf", "h2"),
    )
    assert spliced_links(assignments) == {"h1-s1", "h2-s1"}


def test_an_open_vswitch_loses_its_carrier_where_nothing_passes() -> None:
    cut = LinkDown("cut", LINK, UP, window=Window(1, 2))
    assert choose_backends(openflow(cut), never) == (Assignment("cut", "h1-s1", "up", "netlink", "s1"),)


def test_a_foreign_link_by_ebpf() -> None:
    assert one(Loss("a", LINK, UP)) == Assignment("a", "h1-s1", "up", "ebpf", "h1")
    assert one(Loss("a", LINK, (Direction.DOWN,))) == Assignment("a", "h1-s1", "down", "ebpf", "s1")


def test_netem_where_chance_is_enough() -> None:
    assert one(Reorder("a", LINK, UP)) == Assignment("a", "h1-s1", "up", "netem", "h1")
    assert one(Loss("a", LINK, UP), FaultCapabilities(ebpf=NO_EBPF)).backend == "netem"


def test_seventeen_faults_are_too_many_for_ebpf() -> None:
    faults = [Loss(f"f{n}", LINK, UP) for n in range(17)]
    with pytest.raises(HostCapabilityError) as refused:
        chosen(foreign(*faults), ALL)
    assert str(refused.value) == (
        "this machine lacks a backend for all faults of link h1-s1 up: fault f1: one netem qdisc takes one `loss`; end "
        "the "
        "link at a switch node of the testbed (switch.commodity: soft)"
    )
    assert {item.backend for item in chosen(foreign(*faults[1:]), ALL)} == {"ebpf"}
    back = Loss("back", LINK, (Direction.DOWN,))
    assert {item.backend for item in chosen(foreign(back, *faults[1:]), ALL)} == {"ebpf"}, "16 in each direction"
    named = [Drop(f"f{n}", LINK, UP, match=Match(attempt=1)) for n in range(17)]
    with pytest.raises(
        HostCapabilityError, match="eBPF serves 16 faults on one direction of a link; netem has no Drop"
    ):
        chosen(foreign(*named), ALL)


@pytest.mark.parametrize(
    ("fault", "capabilities", "message"),
    [
        (
            Loss("a", LINK, UP),
            FaultCapabilities(NO_EBPF, NO_NETEM),
            (
                "this machine lacks clang and netem (one of them is enough), needed for fault a on link h1-s1, "
                "which ends "
                "at no "
                "switch of ours; install clang; or load sch_netem"
            ),
        ),
        (
            Drop("a", LINK, UP, match=Match(attempt=1)),
            FaultCapabilities(ebpf=NO_EBPF),
            (
                "this machine lacks clang, needed for fault a on link h1-s1, which ends at no switch of ours; install "
                "clang"
            ),
        ),
        (
            Delay("a", LINK, UP, delay_ns=1),
            FaultCapabilities(netem=NO_NETEM),
            (
                "this machine lacks netem, needed for fault a on link h1-s1, which ends at no switch of ours; load "
                "sch_netem"
            ),
        ),
        (
            Duplicate("a", LINK, UP, delay_ns=1),
            ALL,
            (
                "this machine lacks a backend for fault a on link h1-s1, which ends at no switch of ours: eBPF cannot "
                "hold a "
                "packet back; netem does not delay copies; end the link at a switch node of the testbed "
                "(switch.commodity: soft)"
            ),
        ),
    ],
)
def test_what_the_machine_lacks_is_refused(fault: Fault, capabilities: FaultCapabilities, message: str) -> None:
    with pytest.raises(HostCapabilityError) as refused:
        chosen(foreign(fault), capabilities)
    assert str(refused.value) == message


def test_link_delay_needs_a_backend_too() -> None:
    shape = LinkShape(delay_ns=5)
    user = chosen(rack_plan(shape=shape), FaultCapabilities(NO_EBPF, NO_NETEM))
    assert [(item.fault, item.target, item.direction, item.backend) for item in user][:2] == [
        ("", "h1-s1", "up", "user"),
        ("", "h1-s1", "down", "user"),
    ]
    assert chosen(foreign(shape=shape), ALL)[0] == Assignment("", "h1-s1", "up", "netem", "h1")
    with pytest.raises(
        HostCapabilityError, match=r"^this machine lacks netem, needed for the delay of link h1-s1, which ends"
    ):
        chosen(foreign(shape=shape), FaultCapabilities(netem=NO_NETEM))


def test_a_kind_without_a_backend_is_not_forgotten() -> None:
    with pytest.raises(InternalError, match=r"^no backend for Fault$"):
        chosen(rack_plan([Fault("odd")]), ALL)


def test_describe() -> None:
    plan = foreign(Burst("b", LINK), Reorder("r", LINK, UP), Kill("k", "s1"))
    assert describe(chosen(plan, ALL)) == [
        "b: eBPF on what h1 sends (h1-s1 up)",
        "b: eBPF on what s1 sends (h1-s1 down)",
        "r: netem (by chance, not by identity) on what h1 sends (h1-s1 up)",
        "k: signals to s1 (s1)",
    ]
    both = chosen(rack_plan([Loss("a", LINK)], shape=LinkShape(delay_ns=1), hosts=2), ALL)
    assert describe(both) == [
        "a: user-space ports of s1 (h1-s1 up, h1-s1 down)",
        "link delay: user-space ports of s1 (h1-s1 up, h1-s1 down, h2-s1 up, h2-s1 down)",
    ]


def test_describe_shows_eight_places() -> None:
    links = tuple(f"h{n}-s1" for n in range(1, 6))
    assert describe(chosen(rack_plan([Loss("a", links)], hosts=5), ALL)) == [
        (
            "a: user-space ports of s1 (h1-s1 up, h1-s1 down, h2-s1 up, h2-s1 down, h3-s1 up, h3-s1 down, h4-s1 up, "
            "h4-s1 down and 2 more)"
        )
    ]


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_probe_asks_this_machine_and_leaves_nothing() -> None:
    before = os.readlink("/proc/thread-self/ns/net")
    found = probe_fault_capabilities()
    assert found.ebpf is None or "eBPF" in str(found.ebpf) or "bpf" in str(found.ebpf)
    assert found.netem is None or found.netem.missing == "the netem qdisc"
    assert os.readlink("/proc/thread-self/ns/net") == before
