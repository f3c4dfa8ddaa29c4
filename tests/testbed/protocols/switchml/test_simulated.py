"""SwitchML in virtual time: right sums under whatever the network does, and wrong programs and workers found by
checkers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from switch_nodes.switchml import SwitchMlProgram
from testbed.checkers import CheckContext, run_checks
from testbed.faults.events import FaultStruck
from testbed.faults.model import (
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    EcnMark,
    Fault,
    Kill,
    Loss,
    Match,
    Pause,
    Reorder,
    Window,
)
from testbed.figures.metrics import metrics
from testbed.history import Record, sort_history
from testbed.history.verdict import Verdict
from testbed.plan import Plan, make_plan
from testbed.scenario.keys.job import Straggler
from testbed.worlds.simulated import make_worker, simulate
from tests.support.simulation import digests, of, rack_links, rack_plan
from tests.support.switchml_mutants import BitmapIgnored, NoReplay, NoShadowCopy, OnePool, ReplayToAll
from topologies import Direction
from workloads.config import WorkloadConfig
from workloads.datagrams.blocks import BlockReplayed, ContributionIgnored, SlotChanged
from workloads.datagrams.slot_window import SlotWindow
from workloads.events import DatagramStatistics, FrameRejected, WorkerFailed
from workloads.gradients.synthetic import SyntheticSource
from workloads.switchml import SwitchMlConfig, SwitchMlWorker
from workloads.wire import PSN_MODULUS, Opcode

_MS = 1_000_000


def plan_of(
    *faults: Fault,
    hosts: int = 3,
    seed: int = 1,
    memory: int = 16,
    trace: bool = False,
    rto_ns: int = 4 * _MS,
    path_mtu: int = 256,
    uc_packets: int = 0,
    **job: Any,
) -> Plan:
    """Twice 24 blocks of 64 elements, through 8 indices. `uc_packets`: over UC in messages of that many packets; 0:
    UDP."""
    transport: dict[str, Any] = {"path_mtu": path_mtu, "rto_ns": rto_ns}
    if uc_packets:
        transport |= {"framing": "uc", "uc_packets": uc_packets}
    plan = rack_plan(
        hosts, seed=seed, faults=faults, link={"rate_bps": 50_000_000}, program="switchml", time_limit_ns=400 * _MS,
        transport=transport,
        job={"protocol": "switchml", "size_bytes": 6_000, "iterations": 2, "window_packets": 64} | job,
    )  # fmt: skip
    scenario = replace(plan.scenario, switch=replace(plan.scenario.switch, memory=memory), trace=trace)
    return make_plan(scenario)


def judge(plan: Plan, history: list[Record]) -> dict[str, Verdict]:
    return {result.name: result.verdict for result in run_checks(CheckContext(plan, sort_history(history))).results}


def failed(plan: Plan, history: list[Record]) -> set[str]:
    return {name for name, verdict in judge(plan, history).items() if verdict is Verdict.FAIL}


def losses(rate: float, hosts: int = 3) -> Loss:
    return Loss("loss", rack_links(hosts), rate=rate)


@pytest.mark.parametrize(
    ("hosts", "job"),
    [
        (2, {"uc_packets": 1}),
        (3, {"uc_packets": 2, "dtype": "int32"}),
        (3, {"uc_packets": 3, "size_bytes": 4}),
        (4, {"uc_packets": 4, "copies": 2, "memory": 32, "path_mtu": 512}),
        (2, {}),
        (3, {"dtype": "int32"}),
        (3, {"size_bytes": 4}),
        (3, {"size_bytes": 64 * 4 * 8}),
        (3, {"straggler": Straggler(1, 30 * _MS)}),
        (4, {"workload": "digits", "iterations": 2, "path_mtu": 1024}),
        (32, {"size_bytes": 2000, "iterations": 1}),
    ],
)
def test_every_worker_holds_the_references_bits(hosts: int, job: dict[str, Any]) -> None:
    plan = plan_of(hosts=hosts, **job)
    history = simulate(plan)
    assert set(judge(plan, history).values()) == {Verdict.PASS}
    assert len(digests(history)) == hosts * plan.scenario.job.iterations


@pytest.mark.parametrize("uc_packets", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_network_does(seed: int, uc_packets: int) -> None:
    links = rack_links(3)
    plan = plan_of(
        losses(0.05), Duplicate("twice", links, rate=0.1, delay_ns=9 * _MS),
        Reorder("late", links, rate=0.05, delay_ns=7 * _MS),
        seed=seed, trace=True, uc_packets=uc_packets,
    )  # fmt: skip
    history = simulate(plan)
    assert set(judge(plan, history).values()) == {Verdict.PASS}
    assert of(history, BlockReplayed)
    reasons = {record.event.reason for record in of(history, ContributionIgnored)}
    assert reasons >= {"duplicate", "stale"}
    values = metrics(CheckContext(plan, sort_history(history)))
    assert (
        values["retransmissions"]["packets"] == values["retransmissions"]["by_cause"]["timeout"] == values["timeouts"]
    )
    assert values["replayed_results"] == len(of(history, BlockReplayed))


def test_faults_know_the_packets_of_unreliable_connections() -> None:
    """Each strikes what it names: the third packet on each queue pair of a rank, in either direction, and no other."""
    up, down = (Direction.UP,), (Direction.DOWN,)
    plan = plan_of(
        Drop("third", ("h2-s1",), up, match=Match(psn_offset=2, source_rank=1)),
        Drop("foreign", ("h2-s1",), up, match=Match(source_rank=2)),
        Corrupt("result", ("h1-s1",), down, match=Match(psn_offset=1, source_rank=0)),
        Corrupt("ends", ("h3-s1",), up, match=Match(frozenset({Opcode.UC_WRITE_LAST_IMM}), packet=-1), rate=0.2),
        EcnMark("marks", ("h3-s1",), up, match=Match(frozenset({Opcode.UC_WRITE_FIRST}), packet=0)),
        uc_packets=2,
    )  # fmt: skip
    history = simulate(plan)
    assert set(verdicts := judge(plan, history)) > {"exactly_once", "faults_exercised"}
    assert verdicts.pop("faults_exercised") is Verdict.UNKNOWN  # `foreign`
    assert set(verdicts.values()) == {Verdict.PASS}
    struck = {
        name: [r for r in of(history, FaultStruck) if r.event.fault == name] for name in ("third", "result", "ends")
    }
    window = plan.workers[1].window  # type: ignore[attr-defined]
    assert window == 4
    for name, rank, offset in (("third", 1, 2), ("result", 0, 1)):
        first = plan.connections[rank * window].first_psn
        assert [record.event.psn for record in struck[name]] == [(first + offset) % PSN_MODULUS] * window
        assert len({record.event.flow for record in struck[name]}) == window
    assert {record.event.opcode for record in struck["ends"]} == {Opcode.UC_WRITE_LAST_IMM}
    reasons = Counter(record.event.reason for record in of(history, ContributionIgnored))
    assert reasons["icrc"] == len(struck["ends"])
    assert [r.event.reason for r in of(history, FrameRejected) if r.event.reason == "icrc"] == ["icrc"] * window


def test_damage_that_looks_genuine_is_a_wrong_sum() -> None:
    """What a repaired iCRC hides no UC receiver can see; the checker does."""
    damage = Corrupt("damage", ("h2-s1",), (Direction.UP,), rate=0.2, repair_icrc=True, match=Match(packet=-1))
    plan = plan_of(damage, uc_packets=2, dtype="int32")
    assert "bit_exact" in failed(plan, simulate(plan))


def test_jobs_side_by_side_have_nothing_to_do_with_each_other() -> None:
    plan = plan_of(losses(0.05, hosts=6), hosts=6, copies=2, memory=20)
    (switch,) = plan.switches
    assert [(job.job, job.first_slot, job.slots, len(job.members)) for job in switch.jobs] == [
        (1, 0, 5, 3),
        (2, 5, 5, 3),
    ]
    history = simulate(plan)
    assert set(judge(plan, history).values()) == {Verdict.PASS}
    sums = {(node, iteration): digest for (node, iteration), digest in digests(history).items()}
    assert len(sums) == 12
    assert sums["h1", 0] == sums["h3", 0] != sums["h4", 0] == sums["h6", 0]


def test_slots_that_two_jobs_share_are_found() -> None:
    plan = plan_of(hosts=4, copies=2, memory=20)
    assert failed(plan, simulate(plan, create=OnePool)) == {"bit_exact"}


def test_a_worker_that_stands_still_is_waited_for() -> None:
    plan = plan_of(Pause("nap", "h2", Window(1 * _MS, 60 * _MS)))
    assert set(judge(plan, simulate(plan)).values()) == {Verdict.PASS}


@pytest.mark.parametrize(
    ("uc_packets", "share"),
    [(0, 256 / (82 + 256)), (1, 256 / (78 + 256)), (4, 4 * 256 / (4 * (58 + 256) + 20))],
)
def test_the_bound_is_what_framing_leaves_and_is_nearly_reached(uc_packets: int, share: float) -> None:
    plan = plan_of(size_bytes=100_000, iterations=1, memory=64, uc_packets=uc_packets)
    values = metrics(CheckContext(plan, sort_history(simulate(plan))))
    assert values["bound_bps"] == pytest.approx(50e6 * share)
    assert values["goodput_bps"] == pytest.approx(values["bound_bps"], rel=0.05)
    assert values["peak_slots"] <= 64


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (NoShadowCopy, "bit_exact"),
        (BitmapIgnored, "exactly_once"),
        (NoReplay, "liveness"),
    ],
)
def test_a_wrong_program_is_found_by_a_checker(mutant: type[SwitchMlProgram], check: str) -> None:
    plan = plan_of(losses(0.05))
    assert not failed(plan, simulate(plan))
    assert check in failed(plan, simulate(plan, create=mutant))


def test_answers_for_all_are_no_wrong_sums_but_traffic() -> None:
    plan = plan_of(losses(0.05))

    def late(history: list[Record]) -> int:
        return sum(record.event.duplicates_received for record in of(history, DatagramStatistics))

    ours, theirs = simulate(plan), simulate(plan, create=ReplayToAll)
    assert not failed(plan, theirs)
    assert late(theirs) > 2 * late(ours)


class _StartsAnew(SlotWindow):
    """Versions begin at 0 with every tensor, though packets are still counted."""

    def index_of(self, packet: int) -> int:
        return (packet - self.first) % self.window

    def version_of(self, packet: int) -> int:
        return (packet - self.first) % (2 * self.window) // self.window


class _Forgetful(SwitchMlWorker):
    def __init__(self, config: SwitchMlConfig, source: Any, *, start_ns: int = 0) -> None:
        super().__init__(config, source, start_ns=start_ns)
        self._window = _StartsAnew(config.window, config.rto_ns)


def test_versions_that_do_not_go_on_are_found() -> None:
    """In a tensor of 34 packets; after a multiple of 2W they begin at 0 anyway."""
    plan = plan_of(size_bytes=6_500)

    def employ(config: Any, start_ns: int) -> SwitchMlWorker:
        source = SyntheticSource(config.workload, config.collective.rank, np.dtype("<f4"))
        return _Forgetful(config, source, start_ns=start_ns)

    assert "liveness" in failed(plan, simulate(plan, employ=employ))


def test_a_dead_switch_is_told_with_what_was_waited_for() -> None:
    plan = plan_of(Kill("crash", "s1", Window(1 * _MS)))
    context = CheckContext(plan, sort_history(simulate(plan)))
    (liveness,) = (result for result in run_checks(context).results if result.name == "liveness")
    assert liveness.verdict is Verdict.FAIL
    assert re.search(
        r"h1 sent block \d+ \(iteration \d, packet \d+ of 32\) \d+ times: the switch", "".join(liveness.evidence)
    )


def test_a_switch_without_memory_of_the_job_never_makes_a_wrong_sum() -> None:
    plan = plan_of(Kill("crash", "s1", Window(1 * _MS, 3 * _MS)))
    assert not failed(plan, simulate(plan)) - {"liveness"}


def test_what_cannot_be_quantised_ends_the_job() -> None:
    plan = plan_of(iterations=1)

    class Infinite(SyntheticSource):
        def gradient(self, iteration: int) -> Any:
            values = super().gradient(iteration)
            values[17] = np.inf
            return values

    def employ(config: Any, start_ns: int) -> Any:
        if config.collective.rank:
            return make_worker(config, start_ns)
        source = Infinite(config.workload, 0, np.dtype("<f4"))
        return SwitchMlWorker(config, source, start_ns=start_ns)

    history = simulate(plan, employ=employ)
    (told,) = of(history, WorkerFailed)
    assert (told.node, told.event.reason) == ("h1", "unquantisable")
    assert told.event.detail == "element 17 is inf: what travels as integers must be below 2^127"


def test_the_trace_adds_steps_and_changes_nothing() -> None:
    faults = (losses(0.05), Delay("slow", ("h2-s1",), delay_ns=2 * _MS))
    plain, traced = (simulate(plan_of(*faults, trace=trace)) for trace in (False, True))
    assert of(traced, SlotChanged)
    assert [record for record in traced if not isinstance(record.event, SlotChanged)] == plain


def test_gradients_differ_by_rank() -> None:
    """Or the sums above would say little."""
    rows = [
        SyntheticSource(WorkloadConfig("synthetic", 1, 64, 1), rank, np.dtype("<f4")).gradient(0).tobytes()
        for rank in (0, 1)
    ]
    assert rows[0] != rows[1]
