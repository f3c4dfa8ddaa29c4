"""Trainings whose sums travel in datagrams and whose other collectives go over a mesh: real results, and the usual
judges."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.checkers import CheckContext, run_checks
from testbed.history import sort_history
from testbed.history.verdict import Verdict
from testbed.train.network import Tasks
from testbed.train.planning import TrainingSource, carries_all, judged_plan, training_plan
from testbed.train.simulated import SimulatedNetwork
from tests.support.floors import ROOT
from workloads.config import MeshTask
from workloads.errors import InternalError
from workloads.events import CollectiveCompleted, CollectiveStarted, WorkerFinished
from workloads.gradients import create_source
from workloads.gradients.external import ExternalSource, PostedPieces, attach_sources, attached_source
from workloads.hosts import create_host
from workloads.tasked_host import with_mesh

SCENARIOS = ("switchml-lossy", "switchml-uc-lossy", "atp-lossy", "esa-lossy", "ps-lossy", "grid")
PIECE = 12_000
ORDER = ("", "reduce_scatter", "broadcast", "", "", "barrier", "all_gather", "all_to_all", "")
"""operations; empty: a sum"""


class Trained:
    def __init__(self, scenario: str, *changes: str) -> None:
        source, self.records = TrainingSource(scenario, ("job.dtype=float32", *changes)), []
        plan = training_plan(source.sized(PIECE))
        assert carries_all(plan)
        self.ranks = len(plan.workers)
        network = SimulatedNetwork(plan, self.records.append)
        draw, everyone = np.random.default_rng(5), tuple(range(self.ranks))
        self.before, self.after = [], []
        for number, operation in enumerate(ORDER):
            vectors = [draw.standard_normal(3001 + number).astype(np.float32) for _ in everyone]
            totals = [vector.copy() for vector in vectors]
            tasks = Tasks(operation, (MeshTask(operation, everyone, 1),) * self.ranks) if operation else None
            network.carry(number, vectors, totals, tasks)
            assert [arrived.number for arrived in network.work()] == [number], network.problem
            self.before.append(vectors)
            self.after.append(totals)
        network.close()
        self.pieces = network.iterations
        judged = judged_plan(source, PIECE, network.iterations)
        results = run_checks(CheckContext(judged, sort_history(self.records))).results
        self.bad = {each.name: each.detail for each in results if each.verdict is not Verdict.PASS}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_sums_and_other_operations_follow_one_another(scenario: str) -> None:
    trained = Trained(scenario)
    assert trained.bad.keys() <= {"training", "transparency", "credit_bound"}, trained.bad  # no ranks here
    for operation, vectors, totals in zip(ORDER, trained.before, trained.after, strict=True):
        if not operation:
            assert len({total.tobytes() for total in totals}) == 1
            np.testing.assert_allclose(totals[0], np.sum(vectors, axis=0), rtol=1e-3, atol=1e-4)
        if operation == "broadcast":
            assert {total.tobytes() for total in totals} == {vectors[1].tobytes()}


def test_workers_of_the_users_own_need_not_know_of_the_mesh() -> None:
    """They make a Machine for the gradients that `source_of` gives them. Theirs cut floats to 8 bits of fraction."""
    trained = Trained("switchml-lossy", f"job.protocol={ROOT}/playbooks/protocols/bf16.py:BF16")
    assert trained.bad.keys() <= {"training", "transparency", "credit_bound"}, trained.bad  # no ranks here
    for operation, vectors, totals in zip(ORDER, trained.before, trained.after, strict=True):
        if not operation:
            np.testing.assert_allclose(totals[0], np.sum(vectors, axis=0), atol=len(vectors) * 0.03)
            assert np.abs(totals[0] - np.sum(vectors, axis=0)).max() > 1e-3, "they cut"
        if operation == "broadcast":
            assert {total.tobytes() for total in totals} == {vectors[1].tobytes()}


def test_a_source_that_was_attached_before_stays() -> None:
    """Sources of a training outlast the Machine that gets its part of one."""
    plan = training_plan(TrainingSource("switchml").sized(PIECE))
    sources = {rank: ExternalSource(PostedPieces(), 8) for rank in range(len(plan.workers))}
    attach_sources(sources)
    try:
        create_host(plan.workers[1])
        assert [attached_source(rank) for rank in sources] == list(sources.values())
    finally:
        attach_sources({})


def test_events_have_the_numbers_of_the_training() -> None:
    trained = Trained("switchml-lossy")
    events = [record.event for record in trained.records if record.node == "h1"]
    for kind in (CollectiveStarted, CollectiveCompleted):
        assert [event.iteration for event in events if isinstance(event, kind)] == list(range(trained.pieces))
    operations = [event.operation for event in events if isinstance(event, CollectiveStarted)]
    assert list(dict.fromkeys(filter(None, operations))) == list(filter(None, ORDER))
    assert [event for event in events if isinstance(event, WorkerFinished)] == [WorkerFinished(trained.pieces)]


def test_a_source_without_tasks_is_refused() -> None:
    worker = training_plan(TrainingSource("switchml").sized(PIECE)).workers[0]
    workload = worker.workload.__class__("synthetic", 1, 8, 1)
    with pytest.raises(InternalError, match="no iteration is one of the mesh"):
        with_mesh(worker.mesh, create_source(workload, 0, 4), lambda source: pytest.fail("made"), 0)  # type: ignore[attr-defined]
