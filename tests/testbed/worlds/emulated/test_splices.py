"""A link with a joint: what it carries, what its carrier tells, and what the kernel's faults do in it to whoever
reads."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from testbed.faults.ebpf import EbpfFaults
from testbed.faults.events import FaultStruck
from testbed.faults.model import Drop, Duplicate, Loss, Match, PacketFault
from testbed.history.events import KernelFaultsUnseen
from testbed.kernel.cleanup import find_leftovers
from testbed.kernel.ledger import Ledger
from testbed.kernel.links import read_links
from testbed.kernel.namespaces import inside
from testbed.plan import Plan
from testbed.worlds.emulated import kernel_faults
from testbed.worlds.emulated.backends import FaultCapabilities, choose_backends, spliced_links
from testbed.worlds.emulated.kernel_faults import KernelFaults, pass_on
from testbed.worlds.emulated.network import Network, build
from testbed.worlds.emulated.splices import Splices
from tests.support.emulated import SHAPE, make_rack_plan, needs_root
from topologies import Direction, Link
from workloads.errors import HostCapabilityError

LINK = "h1-s1"
_ETH_P_ALL = 3
_KIND = b"\x88\xb5"
"""an EtherType for experiments"""


def frames(count: int) -> list[bytes]:
    return [bytes(12) + _KIND + number.to_bytes(4, "big") * 20 for number in range(count)]


def plan_of(*faults: PacketFault) -> Plan:
    """A rack whose switch is none of ours."""
    return replace(make_rack_plan(faults=faults), switches=())


def test_a_kernel_that_cannot_join_the_pieces_is_named() -> None:
    with pytest.raises(HostCapabilityError) as refused:
        pass_on("j0a", "j0b", lambda command: (2, "Error: TC classifier not found.\n") if "u32" in command else (0, ""))
    assert str(refused.value) == (
        "this machine lacks clsact, the u32 classifier or the mirred action of tc (Error: TC classifier not found.); "
        "use a "
        "kernel with CONFIG_NET_CLS_U32 and CONFIG_NET_ACT_MIRRED, as root, and iproute2"
    )


class FakeSplices:
    """Joints whose sides are words."""

    def inside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def sides(self, link: Link, direction: Direction) -> tuple[str, str]:
        return ("a", "b") if direction is Direction.UP else ("b", "a")


def test_netem_delays_and_chances_sit_where_frames_leave_the_joint(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, ...]] = []
    monkeypatch.setattr(kernel_faults, "Netem", lambda side, words: made.append((side, *words)))
    monkeypatch.setattr(kernel_faults, "pass_on", lambda came_in, leaves_by: made.append((came_in, "to", leaves_by)))
    shape = replace(SHAPE, delay_ns=2_000_000, jitter_ns=500_000)
    faults = (Loss("l", (LINK,), (Direction.DOWN,), rate=0.25),)
    plan = replace(make_rack_plan(1, faults=faults, shape=shape), switches=())
    no_ebpf = FaultCapabilities(ebpf=HostCapabilityError("clang", "get it"))
    KernelFaults(plan, choose_backends(plan, lambda: no_ebpf), cast(Splices, FakeSplices()))
    assert made == [
        ("b", "delay", "2000us", "500us"),
        ("a", "to", "b"),
        ("a", "delay", "2000us", "500us", "loss", "25%"),
        ("b", "to", "a"),
    ]


class FullProgram:
    """An EbpfFaults that ran out of room."""

    link, direction, uncounted, undescribed = LINK, Direction.UP, 7, 0


def test_a_program_without_room_says_so() -> None:
    faults = KernelFaults(plan_of(), (), None)
    assert list(faults.shortfalls()) == []
    faults._programs.append(cast(EbpfFaults, FullProgram()))
    assert list(faults.shortfalls()) == [KernelFaultsUnseen(LINK, "up", 7, 0)]


class TestBuilt:
    pytestmark = needs_root

    @pytest.fixture
    def ledger(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
        monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
        ledger = Ledger.create("run-1", tmp_path)
        yield ledger
        ledger.close()

    @pytest.fixture
    def network(self, ledger: Ledger) -> Iterator[Network]:
        network = build(plan_of().scenario.topology, ledger, spliced=[LINK])
        yield network
        network.stop()

    def exchange(self, network: Network, direction: Direction, sent: list[bytes]) -> list[bytes]:
        """What a packet socket on all protocols reads at the far end, as Open vSwitch and our hosts do."""
        ends = [("h1", 0), ("s1", network.topology.link(LINK).b_port)]
        (near, near_port), (far, far_port) = ends if direction is Direction.UP else reversed(ends)
        with ExitStack() as stack:
            with inside(network.pid(near)):
                sender = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            with inside(network.pid(far)):
                receiver = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            receiver.bind((network.interface(far, far_port), _ETH_P_ALL))
            sender.bind((network.interface(near, near_port), 0))
            receiver.settimeout(0.3)
            for frame in sent:
                sender.send(frame)
            got = []
            try:
                while True:
                    got.append(receiver.recv(4096))
            except TimeoutError:
                return [frame for frame in got if frame[12:14] == _KIND]

    def test_it_carries_what_it_is_given_both_ways(self, network: Network) -> None:
        plan = plan_of(Loss("never", (LINK,), rate=0.0))
        faults = KernelFaults(plan, choose_backends(plan, FaultCapabilities), network.splices)
        for direction in Direction:
            assert self.exchange(network, direction, frames(50)) == frames(50), direction
        faults.close()

    def test_a_fault_keeps_frames_from_a_reader_of_all_protocols(self, network: Network) -> None:
        plan = plan_of(
            Loss("half", (LINK,), (Direction.UP,), rate=0.5),
            Loss("late", (LINK,), (Direction.DOWN,), rate=1.0),
        )
        faults = KernelFaults(plan, choose_backends(plan, FaultCapabilities), network.splices)
        assert self.exchange(network, Direction.DOWN, frames(5)) == frames(5), "nothing strikes before the start"
        faults.start(1)
        got = self.exchange(network, Direction.UP, frames(200))
        told = [event for _, event in faults.events(1 << 62) if isinstance(event, FaultStruck)]
        assert (len(got) + len(told), {event.fault for event in told}) == (200, {"half"})
        assert 60 < len(got) < 140
        assert self.exchange(network, Direction.DOWN, frames(7)) == []
        assert [event.direction for _, event in faults.events(1 << 62) if isinstance(event, FaultStruck)] == [
            "down"
        ] * 7
        assert list(faults.shortfalls()) == []
        faults.close()

    def test_copies_reach_the_far_end_too(self, network: Network) -> None:
        plan = plan_of(Duplicate("twice", (LINK,), (Direction.UP,)))
        faults = KernelFaults(plan, choose_backends(plan, FaultCapabilities), network.splices)
        faults.start(1)
        assert sorted(self.exchange(network, Direction.UP, frames(20))) == sorted(frames(20) * 2)
        assert len([event for _, event in faults.events(0) if isinstance(event, FaultStruck)]) == 20
        faults.close()

    def test_the_far_end_sees_when_a_port_goes_down(self, network: Network) -> None:
        link = network.topology.link(LINK)
        sockets = network._sockets["h1"]
        index = sockets.index[network.interface("h1", 0)]

        def carrier() -> bool:
            return read_links(sockets.netlink)[index].carrier

        assert carrier()
        network.set_state("s1", link.b_port, up=False)
        assert not carrier()
        network.set_state("s1", link.b_port, up=True)
        assert carrier()

    def test_it_leaves_nothing(self, ledger: Ledger, network: Network) -> None:
        splices = network.splices
        assert splices is not None
        inode = splices._network.inode
        with splices.inside():
            assert {item.name for item in read_links(splices._netlink).values()} == {"lo", "j0a", "j0b"}
        network.stop()
        assert network.splices is None
        assert find_leftovers(ledger.entries()) == ()
        assert any(getattr(entry, "inode", 0) == inode for entry in ledger.entries()), "it was written down"


def test_joints_are_for_links_of_the_kernel_alone() -> None:
    plan = plan_of(Drop("d", (LINK,), match=Match(attempt=1)))
    assert spliced_links(choose_backends(plan, FaultCapabilities)) == {LINK}
    assert spliced_links(choose_backends(make_rack_plan(faults=plan.scenario.faults), FaultCapabilities)) == set()
