"""Trainings whose sums may miss a share: who judges them, how, and what of a wrong host is seen."""

import numpy as np
import pytest

from testbed.checkers.contract import judged_protocol
from testbed.history.verdict import Verdict
from testbed.protocols.dlcp.bounded_training import BoundedPieces
from testbed.train.expected import piece_judge
from testbed.train.planning import TrainingSource, has_one_size, judged_plan, training_plan
from tests.support.dlcp_mutants import EndsEarly, KeepsItsOwn, KeepsOldResults
from tests.support.trained import Trained
from tests.testbed.train.calls import Training, complaints, nothing_is_left, root
from workloads.dlcp.worker import DlcpWorker


def test_its_own_judge_follows_a_training():
    assert type(piece_judge(training_plan(TrainingSource("dlcp").sized(8192)))) is BoundedPieces
    protocol = judged_protocol("dlcp")
    assert not protocol.result().is_exact
    assert protocol.piece_judge() is BoundedPieces


@pytest.mark.parametrize("scenario", ["dlcp", "dlcp-ring", "dlcp-ina"])
def test_gradients_have_one_size(scenario):
    assert has_one_size(training_plan(TrainingSource(scenario).sized(8192)))


def test_a_training_is_judged_as_so_many_pieces_of_that_size():
    plan = judged_plan(TrainingSource("dlcp"), 8192, 7)
    assert {worker.workload.kind for worker in plan.workers} == {"external"}
    assert {(worker.workload.elements, worker.workload.iterations) for worker in plan.workers} == {(2048, 7)}


@pytest.mark.parametrize(
    ("name", "bound"), [("dlcp", "10%"), ("dlcp-lossy", "10%"), ("dlcp-ina-lossy", "10%"), ("dlcp-ring-lossy", "40%")]
)
def test_sums_of_what_came_are_judged_piece_by_piece(name, bound):
    """One element of 5,001 is alone in its piece, which the network's own size fills up. Flows of the ring have three
    packets."""
    trained = Trained(name, (f"job.loss_bound={bound}",), (3000, 5001, 3000, 1))
    assert trained.network.problem is None
    assert [arrived.number for arrived in trained.arrived] == [0, 1, 2, 3]
    assert {
        name: result.detail for name, result in trained.verdicts.items() if result.verdict is not Verdict.PASS
    } == {}
    assert {"bit_exact", "exactly_once"}.isdisjoint(trained.verdicts)
    detail = trained.verdicts["bounded_loss"].detail
    assert detail.startswith("all 20 results are the sums of what came: without ")
    assert "ranks got different sums of " in detail
    assert "2 pieces ended in zeros, 3,998 in all" in detail
    whole = 0
    for before, after in zip(trained.before, trained.after, strict=True):
        sums = np.array(
            [
                sum((row for rank, row in enumerate(before) if inside >> rank & 1), start=np.zeros(len(before[0])))
                for inside in range(1 << len(before))
            ]
        )
        for total in after:
            near = np.isclose(total, sums, rtol=1e-4, atol=1e-5)
            assert near.any(axis=0).all(), "each element is the sum of some ranks'"
            whole += bool(near[-1].all())
    assert whole < 16


def test_without_a_bound_dlcp_trains_as_others_do():
    trained = Trained("dlcp-lossy", ("job.loss_bound=0",))
    assert "all ranks got the same sum of each of 6 pieces" in trained.verdicts["bounded_loss"].detail
    for before, after in zip(trained.before, trained.after, strict=True):
        total = before[0].copy()
        for gradient in before[1:]:
            total += gradient
        assert {each.tobytes() for each in after} == {total.tobytes()}


class _FlowsEndEarly(DlcpWorker):
    """Of sums."""

    def begin(self, now):
        super().begin(now)
        self._result = EndsEarly(self._packets, self._needed)


@pytest.mark.parametrize(
    ("name", "place", "planted", "told"),
    [
        ("dlcp-lossy", "workloads.dlcp.hosts.DlcpWorker", KeepsOldResults, "sha256"),
        ("dlcp-lossy", "workloads.dlcp.hosts.DlcpWorker", _FlowsEndEarly, "it ends with "),
        ("dlcp-ring", "workloads.dlcp.hosts.DlcpRing", KeepsItsOwn, "sha256"),
    ],
)
def test_hosts_of_dlcp_that_are_wrong_are_seen(monkeypatch, name, place, planted, told):
    monkeypatch.setattr(place, planted)
    result = Trained(name, ("job.loss_bound=40%",), (3000,) * 4).verdicts["bounded_loss"]
    assert result.verdict is Verdict.FAIL
    assert told in result.detail


def test_sums_of_which_some_is_missing_are_judged_by_their_own_rules(tmp_path):
    """The first all-reduce says how long a piece is."""
    training = Training(
        tmp_path, "some:9000", "step:1", "some:9000", "step:2", "some:100", scenario="dlcp-lossy",
        options=("--set", "job.loss_bound=10%"),
    )  # fmt: skip
    assert (training.code, complaints(training)) == (0, "")
    verdict, detail = training.check("bounded_loss")
    assert (verdict, detail) == (
        "pass",
        (
            "all 6 results are the sums of what came: without 9 of 108 packets of gradients, and 9 of 108 of sums; "
            "ranks got different sums of 2 of 3 pieces, so that their models drift apart; 1 piece ended in zeros, "
            "8,900 in all, which made them as long as the others: the bound counts those packets, too"
        ),
    )
    assert [item["name"] for item in training.result["skipped"]][:2] == ["bit_exact", "exactly_once"]
    nothing_is_left(training)


@root
@pytest.mark.root
@pytest.mark.mininet
@pytest.mark.parametrize("scenario", ["dlcp-lossy", "dlcp-ina-lossy", "dlcp-ring-lossy"])
def test_sums_of_which_some_is_missing_over_real_packets(tmp_path, scenario):
    options = ("--set", "job.loss_bound=10%")
    words = ("some:9000", "step:1", "some:9000", "some:100")
    training = Training(tmp_path, *words, scenario=scenario, world="emulated", options=options)
    assert (training.code, complaints(training)) == (0, "")
    verdict, detail = training.check("bounded_loss")
    assert verdict == "pass"
    assert detail.startswith("all 6 results are the sums of what came: without ")
    assert training.check("no_leftovers")[0] == "pass"
    nothing_is_left(training)
