"""The stock checkers over a job of several rings: each ring is judged for itself, and a fault in one is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from switch_nodes.events import MessageAggregated
from testbed.captures.capture import MemoryTap
from testbed.captures.pcapng import CapturedFrame
from testbed.checkers import CheckContext, run_checks
from testbed.checkers.folds import fold, masters_fold, pieces_fold, ring_fold
from testbed.history import Record, sort_history
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import Plan, make_plan
from testbed.scenario.model import Job, Scenario, SwitchOptions
from testbed.worlds.simulated import simulate
from tests.support.records import a_record, event_with
from topologies import LinkShape, machines
from workloads.config import ArithmeticSpec
from workloads.events import CollectiveCompleted, MessageReceived, PhaseStarted, WorkerFinished
from workloads.wire import Bth, Opcode, Packet, decode_packet, encode_packet, replace_payload

SHAPE = LinkShape(rate_bps=1_000_000_000)


class Run:
    """One run of 2 x 2 workers and what can be changed in it afterwards."""

    def __init__(self, protocol: str) -> None:
        program = "netreduce" if protocol == "parallel_netreduce" else "forward"
        job = Job(protocol=protocol, size_bytes=4 * 3001, message_packets=4, iterations=2)
        self.plan: Plan = make_plan(
            Scenario("t", machines(2, 2, SHAPE), SHAPE, switch=SwitchOptions(program), job=job, world="simulated")
        )
        topology = self.plan.scenario.topology
        self.taps = {
            config.name: MemoryTap(config.name, [link.name for _, link, _ in sorted(topology.ports(config.name))])
            for config in self.plan.switches
        }
        self.history = sort_history(simulate(self.plan, self.taps))

    def judge(self, history: list[Record] | None = None, **taps: Any) -> dict[str, CheckResult]:
        context = CheckContext(self.plan, history or self.history, tuple((self.taps | taps).values()))
        return {result.name: result for result in run_checks(context).results}


@pytest.fixture(scope="module")
def parallel() -> Run:
    return Run("parallel_netreduce")


@pytest.fixture(scope="module")
def tencent() -> Run:
    return Run("tencent")


def test_a_good_run_passes_every_check_that_applies(parallel: Run, tencent: Run) -> None:
    results = parallel.judge()
    assert {name for name, result in results.items() if result.verdict is Verdict.PASS} == set(results)
    assert results["exactly_once"].detail == "10 messages of 2 ranks on 2 rings: every packet entered its sum once"
    assert {"credit_bound", "slots_private", "transparency"} <= set(results)
    for run in (parallel, tencent):
        told = [
            sorted((r.node, r.event.iteration, r.event.phase) for r in run.history if r.name == event)
            for event in ("PhaseStarted", "PhaseCompleted")
        ]
        assert told[0] == told[1]
        assert len(told[0]) == sum(len(worker.phases) for worker in run.plan.workers) * 2
    chains = tencent.judge()
    assert {result.verdict for result in chains.values()} == {Verdict.PASS}
    assert not {"exactly_once", "credit_bound", "slots_private"} & set(chains)


def changed(history: list[Record], which: Callable[[Record], bool], **values: Any) -> list[Record]:
    """The first record of that kind with other values."""
    number = next(number for number, record in enumerate(history) if which(record))
    return [*history[:number], event_with(history[number], **values), *history[number + 1 :]]


def aggregated(ring: int, message: int) -> Callable[[Record], bool]:
    return lambda r: isinstance(r.event, MessageAggregated) and (r.event.ring_id, r.event.message) == (ring, message)


def test_a_contribution_that_entered_one_ring_twice(parallel: Run) -> None:
    found = parallel.judge(changed(parallel.history, aggregated(2, 1), contributions=(4, 5)))["exactly_once"]
    assert found.verdict is Verdict.FAIL
    assert "of ring 2: 5 packets of rank 1 (h4) entered its sums, not 4" in found.detail


def test_a_message_that_one_ring_lacks(parallel: Run) -> None:
    history = [record for record in parallel.history if not aggregated(2, 3)(record)]
    found = parallel.judge(history)["exactly_once"]
    assert found.verdict is Verdict.FAIL
    assert "message 3 (iteration 1, part 1 of 2) of ring 2 reached a worker and was never aggregated" in found.detail


def test_a_ring_that_nobody_planned(parallel: Run) -> None:
    found = parallel.judge(changed(parallel.history, aggregated(1, 1), ring_id=9))["exactly_once"]
    assert found.verdict is Verdict.FAIL
    assert "message 1 of ring 9 was aggregated, the job has no such ring" in found.evidence


def test_credit_is_that_of_the_ring_alone(parallel: Run) -> None:
    """Messages of other phases give none."""

    def is_result(record: Record) -> bool:
        return isinstance(record.event, MessageReceived) and record.node == "h1" and record.event.phase == "netreduce"

    found = parallel.judge(changed(parallel.history, is_result, phase="reduce_scatter"))["credit_bound"]
    assert found.verdict is Verdict.FAIL
    assert found.detail.endswith("first: h1 posted message 1 before the result of the hello")


@pytest.mark.parametrize("name", ["parallel", "tencent"])
def test_a_wrong_result(name: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(name)
    found = run.judge(changed(run.history, lambda r: isinstance(r.event, CollectiveCompleted), sha256="0" * 64))[
        "bit_exact"
    ]
    assert found.verdict is Verdict.FAIL
    assert "its messages carry partial sums" in found.detail


def test_who_did_not_finish_was_in_a_phase(parallel: Run) -> None:
    last = max(r.t for r in parallel.history if isinstance(r.event, PhaseStarted) and r.node == "h3")
    history = [
        r for r in parallel.history if not (r.node == "h3" and (r.t > last or isinstance(r.event, WorkerFinished)))
    ]
    found = parallel.judge(history)["liveness"]
    assert found.verdict is Verdict.FAIL
    assert "h3 was in phase all_gather of iteration 1, with " in found.detail


def test_a_failed_queue_pair_is_named_with_its_phase_and_peer(parallel: Run) -> None:
    qpn = parallel.plan.workers[1].phases[1].to_successor.qpn
    failed = a_record(1, "h2", "QpFailed", qpn=qpn, status="RETRY_EXC", psn=4, detail="8 times")
    history = [failed, *(record for record in parallel.history if not isinstance(record.event, WorkerFinished))]
    found = parallel.judge(history)["liveness"]
    assert f"the queue pair {qpn:#x} of h2 towards h4 in phase netreduce failed with RETRY_EXC" in found.detail


class Altered:
    """A capture in which some frames are others."""

    def __init__(self, tap: MemoryTap, alter: Callable[[str, CapturedFrame], CapturedFrame]) -> None:
        self.name, self.switch, self._tap, self._alter = tap.name, tap.switch, tap, alter

    def read(self) -> Any:
        for interface, frame in self._tap.read():
            yield interface, self._alter(interface, frame)


def data_of(run: Run, worker: int, phase: int) -> Callable[[CapturedFrame], bool]:
    """Is the frame data of that connection, and longer than a hello?"""
    qp = run.plan.workers[worker].phases[phase].to_successor

    def is_it(captured: CapturedFrame) -> bool:
        packet = decode_packet(captured.frame)
        return packet.bth.dest_qpn == qp.peer_qpn and packet.info.is_request and len(packet.payload) > 16

    return is_it


@pytest.mark.parametrize(
    ("switch", "link", "phase", "may"),
    [("s1", "m2-s1", 1, True), ("m1", "m1-s1", 1, False), ("m1", "h2-m1", 0, False)],
)
def test_payloads_may_change_where_a_ring_is_summed_and_nowhere_else(
    parallel: Run, switch: str, link: str, phase: int, may: bool
) -> None:
    """A result is another payload by right, so that the rack's switch is judged by its headers and counts alone."""
    is_it, seen = data_of(parallel, 0, phase), []

    def alter(interface: str, captured: CapturedFrame) -> CapturedFrame:
        if not (captured.outgoing and interface == link and is_it(captured)):
            return captured
        seen.append(captured)
        behind_header = bytes(len(decode_packet(captured.frame).payload) - 16)
        return captured._replace(frame=replace_payload(captured.frame, behind_header, 16))

    found = parallel.judge(**{switch: Altered(parallel.taps[switch], alter)})["transparency"]
    assert seen
    assert found.verdict is (Verdict.PASS if may else Verdict.FAIL)
    assert may or "its payload changed, and nothing is aggregated on this connection" in found.detail


class Strayed:
    """A capture behind which one more frame enters and leaves, with another payload."""

    def __init__(self, tap: MemoryTap, frame: bytes) -> None:
        self.name, self.switch, self._tap, self._frame = tap.name, tap.switch, tap, frame

    def read(self) -> Any:
        yield from self._tap.read()
        yield "m1-s1", CapturedFrame(0, 0, False, self._frame, "")
        yield "m2-s1", CapturedFrame(0, 0, True, replace_payload(self._frame, b"other", 16), "")


def test_what_belongs_into_a_machine_is_not_summed_on_the_rack(parallel: Run) -> None:
    is_it = data_of(parallel, 0, 0)
    frame = next(captured.frame for _, captured in parallel.taps["m1"].read() if is_it(captured))
    found = parallel.judge(s1=Strayed(parallel.taps["s1"], bytes(frame)))["transparency"]
    assert found.verdict is Verdict.FAIL
    assert "its payload changed, and nothing is aggregated on this connection" in found.detail


def test_a_made_up_answer_inside_a_machine(tencent: Run) -> None:
    is_it = data_of(tencent, 1, 0)

    def alter(interface: str, captured: CapturedFrame) -> CapturedFrame:
        if not (captured.outgoing and is_it(captured)):
            return captured
        packet = decode_packet(captured.frame)
        cnp = Packet(packet.envelope, Bth(Opcode.CNP, packet.bth.dest_qpn, 0), bytes(16))
        return captured._replace(frame=encode_packet(cnp))

    found = tencent.judge(m1=Altered(tencent.taps["m1"], alter))["transparency"]
    assert found.verdict is Verdict.FAIL
    assert any("no CNP with these bytes entered before" in text for text in found.evidence)


def test_the_reference_of_parallel_netreduce_folds_machines_first() -> None:
    rows = [np.array(values, np.float32) for values in ([1e8, 1], [-1e8, 2], [1, 1e8], [1, -1e8])]
    total = pieces_fold([[0, 1], [2, 3]], rows, ArithmeticSpec())
    # Element 0: (1e8 - 1e8) + (1 + 1); element 1, which worker 1 begins: (2 + 1) + (-1e8 + 1e8). One left fold gives
    # else.
    assert total.tolist() == [2.0, 3.0]
    assert fold(rows, ArithmeticSpec()).tolist() == [2.0, 0.0]


def test_the_reference_of_parallel_netreduce_begins_each_piece_with_its_worker() -> None:
    rows = [np.array([1, 1, 1], np.float32), np.array([1e8] * 3, np.float32), np.array([-1e8] * 3, np.float32)]
    # (1 + 1e8) - 1e8; (1e8 - 1e8) + 1; (-1e8 + 1) + 1e8
    assert pieces_fold([[0, 1, 2]], rows, ArithmeticSpec()).tolist() == [0.0, 1.0, 0.0]


def test_the_reference_of_tencent_begins_with_the_last_worker_of_a_machine() -> None:
    rows = [np.array([value], np.float32) for value in (1e8, 1, -1e8, 5, 0, 0)]
    groups = [[0, 1, 2], [3, 4, 5]]
    # ((-1e8 + 1) + 1e8) is 0, (1e8 + 1) - 1e8 as well; the order shows with the middle first.
    assert masters_fold(groups, rows, ArithmeticSpec()).tolist() == [5.0]
    rows = [np.array([value], np.float32) for value in (1, 1e8, -1e8, 5, 0, 0)]
    assert masters_fold(groups, rows, ArithmeticSpec()).tolist() == [6.0]
    rows.insert(0, rows.pop(2))
    assert masters_fold(groups, rows, ArithmeticSpec()).tolist() == [5.0]


def test_the_reference_of_tencent_sums_masters_as_a_ring() -> None:
    rows = [np.array(values, np.float32) for values in ([1e8, 1e8, 1e8], [1, 1, 1], [-1e8, -1e8, -1e8])]
    assert np.array_equal(masters_fold([[0], [1], [2]], rows, ArithmeticSpec()), ring_fold(rows, ArithmeticSpec()))
