"""All-reduces of changing size over simulated networks of every collective: real sums, and the usual judges."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from testbed.history.verdict import Verdict
from testbed.train.planning import TrainingSource
from tests.support.trained import Trained
from workloads.errors import ScenarioError
from workloads.events import CollectiveCompleted

NETWORKS = {
    "netreduce": ("rack-lossy", ()),
    "ring": ("ring", ()),
    "switchml": ("switchml-lossy", ()),
    "atp": ("atp-lossy", ()),
    "esa": ("esa-lossy", ()),
    "grid": ("grid", ("job.dtype=float32",)),
    "spine-leaf": ("spine-leaf-lossy", ()),
    "parallel_netreduce": ("hierarchical", ()),
    "demo": ("demo", ()),  # whose own workload has a size that cannot be changed
    "tencent": ("hierarchical-tencent", ()),
    "recursive_doubling": ("recursive-doubling-lossy", ()),
    "rabenseifner": ("rabenseifner-lossy", ()),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_collective_carries_gradients_of_changing_size(name):
    scenario, overrides = NETWORKS[name]
    trained = Trained(scenario, overrides)
    assert trained.network.problem is None
    assert [arrived.number for arrived in trained.arrived] == [0, 1, 2, 3]
    assert all(arrived.network_ns > 0 for arrived in trained.arrived)
    assert {
        name: result.detail for name, result in trained.verdicts.items() if result.verdict is not Verdict.PASS
    } == {}
    assert trained.verdicts["bit_exact"].detail.endswith("after each of 4 all-reduces (6 pieces)")
    for before, after in zip(trained.before, trained.after, strict=True):
        assert len({hashlib.sha256(total.tobytes()).hexdigest() for total in after}) == 1
        np.testing.assert_allclose(after[0], np.sum(before, axis=0), rtol=1e-3, atol=1e-4)


def test_netreduce_folds_in_rank_order():
    trained = Trained("rack")
    for before, after in zip(trained.before, trained.after, strict=True):
        total = before[0].copy()
        for gradient in before[1:]:
            total += gradient
        assert total.tobytes() == after[0].tobytes()


def test_two_trainings_of_the_same_gradients_have_the_same_history():
    assert Trained("rack-lossy").history == Trained("rack-lossy").history


def test_a_wrong_result_is_seen():
    def spoil(record):
        event = record.event
        wrong = isinstance(event, CollectiveCompleted) and (record.node, event.iteration) == ("h2", 2)
        return replace(record, event=replace(event, sha256="0" * 64)) if wrong else record

    result = Trained("rack", spoil=spoil).verdicts["bit_exact"]
    assert result.verdict is Verdict.FAIL
    assert "h2, collective 2, piece 1 of 3: sha256 0000000000000000... instead of " in result.detail


def test_a_dead_switch_ends_the_network_with_the_reason_of_a_queue_pair():
    trained = Trained("switch-killed", ("faults[0].from=1ms", "transport.timeout=10", "transport.retry_count=3"))
    assert "gave up with RETRY_EXC" in trained.network.problem
    assert trained.network.problem.startswith("the network failed at ")
    assert trained.verdicts["liveness"].verdict is Verdict.FAIL
    assert len(trained.arrived) < 4


def test_a_dead_worker_ends_the_network():
    trained = Trained("worker-killed", ("faults[0].from=1ms",))
    assert "died: no rank can go on without its worker" in trained.network.problem


def test_datagrams_that_nobody_answers_end_with_the_time_limit():
    trained = Trained("switchml", ("time_limit=1s", "faults=[{kind: link_down, name: cut, links: [h2-s1], from: 1ms}]"))
    assert "no sum came within 1 s of virtual time" in trained.network.problem


@pytest.mark.parametrize(
    ("name", "overrides", "told"),
    [
        (
            "shift",
            (),
            ("job.protocol: a training cannot use this; found shift; allowed: atp, binomial_tree, "),
        ),
        ("rack-int32", (), "job.dtype: a training cannot use this; found int32; allowed: float32"),
        (
            "mixed-spine-leaf",
            (),
            "beside: a training cannot use this; found jobs of other collectives; allowed: a training has the fabric",
        ),
        ("rack", ("job.op=max",), "job.op: a training cannot use this; found max; allowed: sum"),
        (
            "switchml-two-jobs",
            (),
            "job.copies: a training cannot use this; found 2; allowed: 1: a training has the fabric for itself",
        ),
        ("jobs-mix", (), "jobs: a training cannot use this; found "),
    ],
)
def test_a_scenario_that_no_training_can_use_is_refused(name, overrides, told):
    with pytest.raises(ScenarioError) as error:
        TrainingSource(name, overrides).load()
    assert told in str(error.value)


def test_the_operation_of_a_scenario_means_nothing_to_a_training():
    """The ranks say what they want, call by call."""
    assert TrainingSource("reduce-lossy").load().job.operation == "all_reduce"
