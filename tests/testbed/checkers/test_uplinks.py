"""What leaves send up, from captures of simulated runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from switch_nodes.netreduce import NetReduceProgram
from switch_nodes.netreduce.contribution import RingContribution
from switch_nodes.netreduce.slot_actions import SlotActions
from testbed.captures.capture import MemoryTap
from testbed.checkers.context import CheckContext
from testbed.checkers.uplinks import leaf_loads, skip_uplinks, uplinks
from testbed.history import Record, sort_history
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.scenario.model import Job, Scenario, SwitchOptions
from testbed.worlds.simulated.world import Simulation
from tests.support.slot_mutants import program_with
from topologies import LinkShape, rack, spine_leaf

SHAPE = LinkShape()
SCENARIO = Scenario(
    "t", spine_leaf([3, 1], 2, SHAPE), SHAPE, job=Job(size_bytes=40_000, message_packets=8), time_limit_ns=2_000_000_000
)


def context_of(
    program: Callable[..., NetReduceProgram] = NetReduceProgram, scenario: Scenario = SCENARIO
) -> CheckContext:
    plan, records = make_plan(scenario), list[Record]()
    taps = {
        config.name: MemoryTap(config.name, [link.name for _, link, _ in sorted(scenario.topology.ports(config.name))])
        for config in plan.switches
    }
    Simulation(plan, records.append, taps, create=program).run()  # type: ignore[arg-type]
    return CheckContext(plan, sort_history(records), tuple(taps.values()))


@program_with
class EveryHostUp(SlotActions):
    """A leaf that sends each local packet up as well."""

    def store(self, c: RingContribution, slot: int) -> None:
        super().store(c, slot)
        if hasattr(c.ring, "uplink_of") and c.rank == 0:
            self.switch.emit(c.ring.uplink_of(c.message), bytes(c.packet.frame))


def test_one_packet_per_slot_however_many_hosts() -> None:
    context = context_of()
    found = uplinks(context)
    assert found.verdict is Verdict.PASS
    big, small = leaf_loads(context)
    assert (big.hosts, small.hosts, len(big.up), len(small.up)) == (3, 1, big.packets, big.packets)
    assert len(big.entered) == 3 * len(big.up)
    assert len(small.entered) == len(small.up)
    headers = 16 * (1 + -(-40_000 // (8 * 1024 - 16)))
    assert big.payload_bytes == small.payload_bytes == 40_000 + headers


def test_packets_of_the_rack_that_go_up_are_found() -> None:
    found = uplinks(context_of(EveryHostUp))
    assert found.verdict is Verdict.FAIL
    assert "leaf1 sent data of a connection within the rack" in found.detail


def test_a_packet_that_nobody_sent_is_found() -> None:
    context = context_of()
    for capture in context.captures:
        assert isinstance(capture, MemoryTap)
    blind = [_Without(capture, "h3-leaf1") if capture.switch == "leaf1" else capture for capture in context.captures]  # type: ignore[union-attr]
    found = uplinks(replace(context, captures=tuple(blind)))  # type: ignore[arg-type]
    assert found.verdict is Verdict.FAIL
    assert "packets up that its boundary host had not sent" in found.detail


class _Without:
    def __init__(self, tap: MemoryTap, interface: str) -> None:
        self._tap, self._interface = tap, interface
        self.name, self.switch = tap.name, tap.switch

    def read(self):  # type: ignore[no-untyped-def]
        return (item for item in self._tap.read() if item[0] != self._interface)


def test_without_a_capture_nothing_is_known() -> None:
    found = uplinks(replace(context_of(), captures=()))
    assert (found.verdict, found.detail) == (Verdict.UNKNOWN, "no capture shows what leaf1, leaf2 sent up")


def test_it_is_about_racks_under_spines_only() -> None:
    flat = Scenario("t", rack(3, SHAPE), SHAPE)
    plain = replace(SCENARIO, job=Job(protocol="ring"), switch=SwitchOptions("forward"))
    assert skip_uplinks(CheckContext(make_plan(flat), ())) == ""
    assert skip_uplinks(CheckContext(make_plan(plain), ())) == ""
    silent = CheckContext(make_plan(replace(SCENARIO, capture=False)), ())
    assert skip_uplinks(silent) == "the scenario turns the capture off (capture: false)"
    assert skip_uplinks(CheckContext(make_plan(SCENARIO), ())) is None
