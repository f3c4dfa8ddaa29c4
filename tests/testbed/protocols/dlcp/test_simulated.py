"""DLCP in virtual time: what the built-in scenarios are there to show."""

from __future__ import annotations

from collections import Counter

import pytest

from testbed.checkers import CheckContext, run_checks
from testbed.history import sort_history
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from tests.support.references import contributions, ring_fold, sha256
from tests.support.simulation import digests, expected_digests, of
from workloads.datagrams.blocks import PartialSent
from workloads.dlcp.events import FlowClosed, SumParts
from workloads.events import DatagramResent, TrainingProgress


def ran(name: str, *overrides: str, seed: int = 1) -> CheckContext:
    plan = make_plan(load_scenario(name, list(overrides), seed=seed, world="simulated"))
    context = CheckContext(plan, sort_history(simulate(plan)))
    wrong = [result for result in run_checks(context).results if result.verdict is not Verdict.PASS]
    assert wrong == []
    return context


def resent(context: CheckContext) -> Counter[str]:
    return Counter(record.node for record in context.events(DatagramResent))


def test_with_a_bound_of_0_every_sum_is_whole() -> None:
    context = ran("dlcp-lossy", "job.loss_bound=0", "job.size=30kB")
    assert digests(context.history) == expected_digests(context.plan)
    assert resent(context)


def test_with_a_bound_hosts_hold_different_sums() -> None:
    context = ran("dlcp-lossy", "job.size=60kB", "job.loss_bound=5%")
    found = digests(context.history)
    assert len(set(found.values())) > context.plan.scenario.job.iterations
    assert not set(found.values()) & set(expected_digests(context.plan).values())


def test_spraying_without_loss_sends_nothing_again() -> None:
    context = ran("dlcp-sprayed")
    assert resent(context) == {}
    assert digests(context.history) == expected_digests(context.plan)
    paths = {record.event.bitmap for record in of(context.history, FlowClosed)}
    assert len(paths) == 1


def test_only_who_lost_more_than_may_be_missing_repeats() -> None:
    assert set(resent(ran("dlcp-data-lost"))) == {"h2"}
    assert set(resent(ran("dlcp-result-lost"))) == {"h4"}, "the server"


def test_a_lost_stop_costs_repetitions() -> None:
    """The server's, too, to which one worker cannot say that it has enough."""
    found = resent(ran("dlcp-stop-lost"))
    assert found["h2"]
    assert found["h4"]
    assert not found["h1"]


@pytest.mark.parametrize("name", ["dlcp-duplicate", "dlcp-reorder"])
def test_copies_and_order_do_not_count(name: str) -> None:
    ran(name)


def test_models_of_different_sums_drift_apart() -> None:
    digits = "job={protocol: dlcp, workload: digits, loss_bound: 5%, iterations: 3, window_packets: 16}"
    context = ran("dlcp-lossy", digits)
    losses = {record.event.loss for record in context.events(TrainingProgress) if record.event.iteration == 2}
    assert len(losses) == len(context.workers)


def test_switches_send_on_what_came_in_time() -> None:
    context = ran("dlcp-ina")
    reasons = Counter(record.event.reason for record in context.events(PartialSent))
    assert reasons["complete"]
    assert reasons["late"]
    late = [record for record in context.events(PartialSent) if record.event.reason == "late"]
    assert all(record.event.bitmap.bit_count() < 3 for record in late if record.node == "leaf1")
    assert resent(context) == {}


def test_losses_with_switches_that_add() -> None:
    context = ran("dlcp-ina-lossy")
    assert any(part.bit_count() > 1 for record in context.events(SumParts) for part in record.event.parts)
    assert resent(context)


def test_a_ring_without_a_bound_makes_whole_sums_and_with_one_less() -> None:
    whole = ran("dlcp-ring-lossy", "job.loss_bound=0", "job.size=60kB", "job.iterations=1")
    rows = contributions(whole.plan, 0)
    right = sha256(ring_fold(rows, "sum", "float32"))
    assert set(digests(whole.history).values()) == {right}
    assert len(set(digests(ran("dlcp-ring").history).values())) == 12


def test_sums_over_switches_are_whole_without_a_bound() -> None:
    context = ran("dlcp-ina-lossy", "job.loss_bound=0", "job.size=60kB", "job.dtype=int32")
    assert digests(context.history) == expected_digests(context.plan)
