"""An accelerator beside a commodity switch: ports, extra hops, capacity, other traffic, and what happens when it
dies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import switch_nodes.steering.program as steer_program
from switch_nodes.config import CarrierChange
from switch_nodes.events import MessageAggregated, RulesReplaced, SlotsAtEnd, SwitchStatistics
from testbed.captures.capture import MemoryTap
from testbed.captures.pcapng import CapturedFrame
from testbed.checkers.bit_exact import bit_exact
from testbed.checkers.context import CheckContext
from testbed.checkers.credit import credit_bound
from testbed.checkers.exactly_once import exactly_once
from testbed.checkers.liveness import liveness
from testbed.checkers.registry import run_checks
from testbed.checkers.slots import slots_private
from testbed.checkers.steering import skip_steering, steering
from testbed.faults.model import Delay, Drop, Fault, Kill, LinkDown, Loss, Match, Window
from testbed.figures.metrics import bound_bps, metrics
from testbed.history import Record, sort_history
from testbed.history.verdict import Verdict
from testbed.plan import Plan, make_plan
from testbed.plan.paths import data_flows
from testbed.worlds.simulated.world import Simulation, simulate
from tests.support.flow_path import flow_path
from tests.support.records import a_record, event_with
from tests.support.references import contributions, flat_fold, ring_fold, sha256
from tests.support.simulation import digests, expected_digests, of, rack_plan
from topologies import Direction, LinkShape, rack_accelerator
from workloads.events import CollectiveCompleted, MessagePosted, Retransmission, WorkerFellBack, WorkerFinished
from workloads.wire import OPCODES, Opcode, decode_packet

MS = 1_000_000
UP, DOWN = Direction.UP, Direction.DOWN


def plan_of(
    hosts: int = 4, ports: int = 2, *faults: Fault, link: LinkShape | None = None, beside: LinkShape | None = None,
    timeout_code: int = 11, **job: Any,
) -> Plan:  # fmt: skip
    shape = link or LinkShape(rate_bps=40_000_000)
    work = {"size_bytes": 60_000, "message_packets": 8, **job}
    topology = rack_accelerator(hosts, ports, shape, beside)
    plan = rack_plan(topology=topology, job=work, faults=faults, transport={"timeout_code": timeout_code})
    return replace(plan, scenario=replace(plan.scenario, capture=True))


def watched(plan: Plan) -> CheckContext:
    """The run in virtual time, with captures."""
    topology, records = plan.scenario.topology, list[Record]()
    taps = {
        config.name: MemoryTap(config.name, [link.name for _, link, _ in sorted(topology.ports(config.name))])
        for config in plan.switches
    }
    Simulation(plan, records.append, taps).run()
    return CheckContext(plan, sort_history(records), tuple(taps.values()))


def verdicts(context: CheckContext) -> dict[str, str]:
    return {result.name: f"{result.verdict}: {result.detail}" for result in run_checks(context).results}


def check(context: CheckContext) -> None:
    assert [text for text in verdicts(context).values() if not text.startswith("pass")] == []


def test_edges_take_the_ports_in_turn_and_data_passes_the_switch_twice() -> None:
    plan = plan_of(5, 2)
    through = [edge.port for edge in plan.switches[0].steering.edges]  # type: ignore[union-attr]
    assert through == [5, 6, 5, 6, 5]
    assert [member.port for member in plan.switches[1].rings[0].members] == [0, 1, 0, 1, 0]
    assert (plan.switches[0].rings, plan.switches[0].flood_ports) == ((), (0, 1, 2, 3, 4))
    assert flow_path(plan, "h1", plan.workers[0].to_successor.envelope) == (
        ("h1-s1", UP), ("s1-a1-1", UP), ("s1-a1-2", DOWN), ("h2-s1", DOWN),
    )  # fmt: skip
    assert flow_path(plan, "h2", plan.workers[1].from_predecessor.envelope) == (("h2-s1", UP), ("h1-s1", DOWN))
    assert (data_flows(plan)["s1-a1-1", UP], data_flows(plan)["s1-a1-2", UP]) == (3, 2)


def test_only_the_data_of_netreduce_has_the_dscp_of_the_job() -> None:
    for plan, dscp in ((plan_of(), 26), (plan_of(protocol="ring"), 0)):
        assert {worker.to_successor.envelope.tos for worker in plan.workers} == {dscp << 2 | 2}
        assert {worker.from_predecessor.envelope.tos for worker in plan.workers} == {2}


@pytest.mark.parametrize(
    ("fault", "changes"),
    [
        (LinkDown("x", ("s1-a1-2",), (UP,), Window(5 * MS)), [(55, 5, False)]),
        (LinkDown("x", ("h2-s1",), window=Window(5 * MS, 6 * MS), count=2, period_ns=4 * MS),
         [(55, 1, False), (56, 1, True), (59, 1, False), (60, 1, True)]),
        (Kill("x", "a1", Window(MS, 3 * MS)), [(51, 4, False), (51, 5, False), (53, 4, True), (53, 5, True)]),
        (LinkDown("x", ("s1-a1-2",), window=Window(), match=Match(message=1)), []),
        (Kill("x", "s1", Window(MS)), []),
        (Loss("x", ("s1-a1-2",), rate=0.5), []),
    ],
)  # fmt: skip
def test_which_faults_take_the_carrier(fault: Fault, changes: list[tuple[int, int, bool]]) -> None:
    carrier = plan_of(4, 2, fault).switches[0].carrier
    assert carrier == tuple(CarrierChange(at * MS, port, up) for at, port, up in changes)


def test_the_carrier_is_back_when_the_last_of_two_faults_is_over() -> None:
    cut = LinkDown("cut", ("s1-a1-1",), window=Window(MS, 5 * MS))
    carrier = plan_of(4, 2, cut, Kill("kill", "a1", Window(3 * MS, 9 * MS))).switches[0].carrier
    assert [(c.at_ns // MS, c.up) for c in carrier if c.port == 4] == [(51, False), (59, True)]


@pytest.mark.parametrize(("hosts", "ports"), [(2, 1), (2, 2), (3, 1), (3, 2), (4, 4), (5, 3)])
def test_sums_are_exact_and_only_data_is_steered(hosts: int, ports: int) -> None:
    loss = Loss("loss", ("h1-s1", "s1-a1-1"), rate=0.02)
    context = watched(plan_of(hosts, ports, loss, iterations=2))
    check(context)
    assert "data packets were led through the accelerator" in verdicts(context)["steering"]
    counters = next(r.event.counters for r in of(context.history, SwitchStatistics) if r.node == "s1")
    assert counters["steered"] > 0
    assert (counters["flooded"], counters["withheld"], counters["filtered"]) == (0, 0, 0)


@pytest.mark.parametrize("hosts", [("h1", "h3", "h4"), ("h4", "h2")])
def test_a_job_of_some_of_the_hosts(hosts: tuple[str, ...]) -> None:
    """Ring edges are those of its ranks, not of all hosts."""
    scenario = plan_of().scenario
    check(watched(make_plan(replace(scenario, job=replace(scenario.job, hosts=hosts)))))


def test_late_duplicates_leave_by_the_port_they_came_in_by() -> None:
    """With one port, what the accelerator only passes on must go back where it came from, or nobody acknowledges it."""
    acks = Loss("acks", ("h1-s1", "h2-s1"), match=Match(opcodes=frozenset({Opcode.ACKNOWLEDGE})), rate=0.5)
    plan = plan_of(2, 1, acks, credit="received", message_packets=4)
    context = watched(plan)
    check(context)
    assert metrics(context)["ignored_packets"].get("stale_forwarded")
    deaf = replace(plan, switches=(plan.switches[0], replace(plan.switches[1], hairpin=False)))
    filtered = [
        record.event.counters["filtered"]
        for records in (context.history, simulate(deaf))
        for record in of(records, SwitchStatistics)
        if record.node == "a1"
    ]
    assert filtered[0] == 0 < filtered[1]


def test_two_more_hops_cost_what_the_model_says() -> None:
    """One packet each, a port for each edge: nothing queues, so the difference is exact."""
    shape = LinkShape(rate_bps=40_000_000, delay_ns=30_000)
    beside = LinkShape(rate_bps=100_000_000, delay_ns=20_000)
    job: dict[str, Any] = {"size_bytes": 512, "hello": False}
    plain = rack_plan(4, link={"rate_bps": 40_000_000, "delay_ns": 30_000}, job=job)
    ends = []
    for plan in (plain, plan_of(4, 4, link=shape, beside=beside, **job)):
        records = simulate(plan)
        assert digests(records) == expected_digests(plan)
        ends.append(max(record.event.completed_ns for record in of(records, CollectiveCompleted)))
    frame_bytes = 14 + 20 + 8 + 12 + 16 + 4 + (16 + 512) + 4
    assert ends[1] - ends[0] == 2 * (frame_bytes * 8 * 1_000_000_000 // beside.rate_bps + beside.delay_ns)


@pytest.mark.parametrize(("hosts", "ports", "fullest"), [(4, 2, 2), (3, 2, 2), (3, 1, 3)])
def test_an_accelerator_that_is_slower_than_its_hosts_bounds_their_goodput(
    hosts: int, ports: int, fullest: int
) -> None:
    beside = LinkShape(rate_bps=30_000_000)
    plan = plan_of(hosts, ports, beside=beside, timeout_code=16, size_bytes=400_000, message_packets=32)
    context = CheckContext(plan, sort_history(simulate(plan)))
    bound = bound_bps(context)
    assert bound == pytest.approx(30_000_000 / fullest * 1024 / (14 + 20 + 8 + 12 + 1024 + 4))
    assert 0.95 * bound < metrics(context)["goodput_bps"] <= bound
    assert not of(context.history, Retransmission)


def test_other_traffic_is_the_same_with_and_without_steering() -> None:
    """A ring's packets, which are other traffic to the rules: the rack's history, packet by packet."""
    job = {"size_bytes": 60_000, "message_packets": 8, "protocol": "ring"}
    rack = simulate(rack_plan(4, link={"rate_bps": 40_000_000}, job=job, transport={"timeout_code": 11}))
    plan = plan_of(protocol="ring")
    rules = plan_of().switches[0]
    beside = simulate(replace(plan, switches=(rules, *plan.switches[1:])))
    names = {"h1", "h2", "h3", "h4"}
    assert [r for r in beside if r.node in names] == [r for r in rack if r.node in names]


@pytest.fixture(scope="module")
def dying() -> CheckContext:
    """A link of the accelerator goes down in the second iteration; the job goes on as ring."""
    cut = LinkDown("cut", ("s1-a1-2",), window=Window(35 * MS))
    return watched(plan_of(4, 2, cut, iterations=3, fallback="ring"))


def test_a_job_goes_on_as_ring(dying: CheckContext) -> None:
    check(dying)
    plan, fell = dying.plan, dying.events(WorkerFellBack)
    assert {record.node for record in fell} == set(dying.workers)
    assert "RETRY_EXC" in {record.event.reason for record in fell}
    replaced = [r for r in dying.events(RulesReplaced) if r.event.reason != "start"]
    assert [(r.node, r.t, r.event.fallback, r.event.reason) for r in replaced] == [
        ("s1", 85 * MS, True, "port 5 is down")
    ]
    last = digests(dying.history)
    for iteration in range(3):
        total = sha256(ring_fold(contributions(plan, iteration), "sum", "float32"))
        assert {last[name, iteration] for name in dying.workers} == {total}
    early = [r for r in dying.events(CollectiveCompleted) if r.t < 85 * MS]
    assert {r.event.sha256 for r in early} == {sha256(flat_fold(contributions(plan, 0), "sum", "float32"))}


def test_without_fallback_the_job_fails_and_says_so() -> None:
    context = watched(plan_of(4, 2, Kill("kill", "a1", Window(35 * MS)), iterations=3))
    found = verdicts(context)
    assert found["liveness"].startswith("fail")
    assert "RETRY_EXC" in found["liveness"]
    assert [name for name, text in found.items() if text.startswith("fail")] == ["liveness"]
    assert "the 4 reported results are right" in found["bit_exact"]


def test_data_that_passed_instead_would_give_wrong_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why the fallback drops."""
    right = steer_program.steering_rules

    def passing(config: Any, down: Iterable[int] = ()) -> Any:
        return tuple(rule for rule in right(config, tuple(down)) if not rule.name.startswith("fallback-"))

    monkeypatch.setattr(steer_program, "steering_rules", passing)
    context = watched(
        plan_of(4, 2, LinkDown("cut", ("s1-a1-2",), window=Window(35 * MS)), iterations=3, timeout_code=13)
    )
    found = verdicts(context)
    assert found["bit_exact"].startswith("fail")
    assert "had not been through the accelerator" in found["steering"]


def test_a_link_that_comes_back_in_time_needs_no_fallback() -> None:
    flap = LinkDown("flap", ("s1-a1-1",), window=Window(10 * MS, 25 * MS))
    context = watched(plan_of(4, 2, flap, iterations=4, fallback="ring"))
    check(context)
    assert not context.fell_back
    assert [r.event.fallback for r in context.events(RulesReplaced)] == [False, True, False]


def test_who_had_finished_takes_part_in_the_ring() -> None:
    """One rank never gets the very last result; others had finished before a connection died of that. One of these is
    the last to finish again, and the run waits for it."""
    late = Delay("late", ("h3-s1",), (DOWN,), delay_ns=3 * MS)
    last = Drop("last", ("h2-s1",), (DOWN,), match=Match(message=8, source_rank=0))
    context = watched(plan_of(4, 2, last, late, timeout_code=12, fallback="ring"))
    check(context)
    finished = [record.node for record in context.events(WorkerFinished)]
    assert sorted(finished) == ["h1", "h2", "h3", "h3", "h4", "h4"]
    assert {record.node for record in context.events(WorkerFellBack)} == set(context.workers)


def test_one_history_of_one_seed() -> None:
    plan = plan_of(4, 2, LinkDown("cut", ("s1-a1-2",), window=Window(25 * MS)), iterations=2, fallback="ring")
    assert simulate(plan) == simulate(plan)


# What checkers say of a job that fell back.


def changed(context: CheckContext, keep: Any = lambda record: record) -> CheckContext:
    """The history with records changed, or left out where `keep` answers None."""
    kept = [new for record in context.history if (new := keep(record)) is not None]
    return CheckContext(context.plan, kept, context.captures)


@pytest.mark.parametrize("early", [True, False])
def test_a_wrong_result_of_either_life_is_found(dying: CheckContext, early: bool) -> None:
    fell_at = min(record.t for record in dying.events(WorkerFellBack))

    def spoil(record: Record) -> Record:
        if isinstance(record.event, CollectiveCompleted) and (record.t < fell_at) == early:
            return event_with(record, sha256="0" * 64)
        return record

    assert bit_exact(changed(dying, spoil)).verdict is Verdict.FAIL


def test_the_second_life_must_be_whole(dying: CheckContext) -> None:
    def forget(record: Record) -> Record | None:
        done = isinstance(record.event, CollectiveCompleted) and (record.node, record.event.iteration) == ("h3", 2)
        return None if done else record

    result = bit_exact(changed(dying, forget))
    assert (result.verdict, result.evidence[0]) == (Verdict.UNKNOWN, "h3 reported no result of iteration 2")


def test_who_finished_before_it_fell_back_has_not_finished(dying: CheckContext) -> None:
    done = a_record(0, "h2", "WorkerFinished", iterations=3)

    def early(record: Record) -> Record | None:
        return None if isinstance(record.event, WorkerFinished) and record.node == "h2" else record

    without = changed(dying, early)
    context = CheckContext(without.plan, [done, *without.history])
    assert context.finished == {"h1", "h3", "h4"}
    assert liveness(context).verdict is Verdict.FAIL


def test_the_first_life_is_judged_as_usual(dying: CheckContext) -> None:
    def twice(record: Record) -> Record:
        if isinstance(record.event, MessageAggregated):
            contributions = (record.event.packets, 0, *record.event.contributions[2:])
            return event_with(record, contributions=contributions)
        return record

    def hasty(record: Record) -> Record:
        if isinstance(record.event, MessagePosted) and record.t < 25 * MS:
            return event_with(record, message=record.event.message + 1)
        return record

    assert exactly_once(changed(dying, twice)).verdict is Verdict.FAIL
    assert credit_bound(changed(dying, hasty)).verdict is Verdict.FAIL
    assert (
        slots_private(changed(dying, lambda r: None if isinstance(r.event, SlotsAtEnd) else r)).verdict is Verdict.PASS
    )


# The check of the steering itself.


class Doctored:
    """A capture with frames changed: `change(interface, frame)` gives what stands in its place."""

    def __init__(self, tap: MemoryTap, change: Any) -> None:
        self._tap, self._change = tap, change
        self.name, self.switch = tap.name, tap.switch

    def read(self) -> Iterator[tuple[str, CapturedFrame]]:
        for interface, captured in self._tap.read():
            yield from self._change(interface, captured)


def judged(context: CheckContext, change: Any) -> str:
    captures = tuple(Doctored(tap, change) for tap in context.captures)  # type: ignore[arg-type]
    result = steering(CheckContext(context.plan, context.history, captures))
    return f"{result.verdict}: {result.detail}"


@pytest.fixture(scope="module")
def good() -> CheckContext:
    return watched(plan_of(3, 2))


def is_data(captured: CapturedFrame) -> bool:
    return OPCODES[decode_packet(captured.frame).bth.opcode].is_request  # type: ignore[union-attr]


def test_what_the_check_of_the_steering_finds(good: CheckContext) -> None:
    assert steering(good).verdict is Verdict.PASS
    detour = ("s1-a1-1", "s1-a1-2")

    def answers_led_there(interface: str, captured: CapturedFrame) -> list[tuple[str, CapturedFrame]]:
        leads = captured.outgoing and not is_data(captured)
        return [("s1-a1-1" if leads else interface, captured)]

    def led_twice(interface: str, captured: CapturedFrame) -> list[tuple[str, CapturedFrame]]:
        return [(interface, captured)] * (2 if interface in detour and captured.outgoing else 1)

    def never_back(interface: str, captured: CapturedFrame) -> list[tuple[str, CapturedFrame]]:
        return [] if interface in detour and not captured.outgoing else [(interface, captured)]

    def nothing(interface: str, captured: CapturedFrame) -> list[tuple[str, CapturedFrame]]:
        return []

    assert "ACKNOWLEDGE" in judged(good, answers_led_there)
    assert "is no data of the job" in judged(good, answers_led_there)
    assert "more often than it came from a host" in judged(good, led_twice)
    assert "had not been through the accelerator" in judged(good, never_back)
    assert judged(good, nothing) == "unknown: no data was led to the accelerator"
    assert steering(CheckContext(good.plan, good.history)).detail == "there is no capture of s1"


def test_the_check_is_silent_where_there_is_no_accelerator(good: CheckContext) -> None:
    assert skip_steering(good) is None
    assert skip_steering(CheckContext(rack_plan(), [])) == ""
    assert skip_steering(CheckContext(plan_of(protocol="ring"), [])) == "nothing is aggregated in this run"
