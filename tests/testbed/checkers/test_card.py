"""What counters and active registers of a card show, where it tells no trace."""

from __future__ import annotations

import pytest

from switch_nodes.netreduce.tables import DROP_REASONS
from testbed.checkers import run_checks
from testbed.checkers.card import KEPT_OUT, contributions, expected_contributions
from testbed.checkers.context import CheckContext
from testbed.checkers.registry import checkers
from testbed.history.verdict import CheckResult, Verdict
from tests.support.judged import MESSAGES, changed, without
from tests.support.records import a_record, event_with

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN
ENTERED = 3 * sum(MESSAGES)


def _silent(good: CheckContext, rings=((1, 3, 3, 2),), **counters: int) -> CheckContext:  # type: ignore[no-untyped-def]
    """The good run, whose switch tells counters instead of a trace."""
    history = without(without(good.history, "MessageAggregated"), "SlotsAtEnd")
    told = a_record(0, "s1", "CardCounted", rings=[list(ring) for ring in rings])
    return changed(good, [*history, event_with(told, counters={"data_in": ENTERED} | counters)])


def _results(context: CheckContext) -> dict[str, CheckResult]:
    wanted = [checker for checker in checkers() if checker.name in ("exactly_once", "liveness", "slots_private")]
    return {result.name: result for result in run_checks(context, wanted).results}


def test_totals_that_fit(good: CheckContext) -> None:
    found = _results(_silent(good, data_in=ENTERED + 5, duplicate=3, replayed=1, icrc=1, results_out=34, bypassed=9))
    assert {name: result.verdict for name, result in found.items()} == dict.fromkeys(found, PASS)
    assert found["exactly_once"].detail == (
        "33 contributions entered sums, as many as the ranks have packets (totals of the card's counters)"
    )
    assert found["exactly_once"].evidence == ("data_in 38; kept out: 1 icrc, 3 duplicate, 1 replayed",)
    assert found["slots_private"].detail == (
        "the card has ring 1 alone, with its 12 slots: there is no other to share with"
    )
    assert found["liveness"].detail.endswith("no slot holds a leftover, by totals of the card's counters")


@pytest.mark.parametrize("counted", [ENTERED + 1, ENTERED - 1])
def test_totals_that_do_not_fit(good: CheckContext, counted: int) -> None:
    found = _results(_silent(good, data_in=counted))
    assert found["exactly_once"].verdict is FAIL
    assert found["exactly_once"].detail == (
        f"s1 counted {counted} contributions to sums, the ranks have {ENTERED} packets"
    )
    assert found["liveness"].verdict is UNKNOWN


def test_a_run_that_did_not_finish_owes_no_contribution(good: CheckContext) -> None:
    context = _silent(good, data_in=ENTERED - 1)
    stopped = changed(context, without(context.history, "WorkerFinished"))
    assert _results(stopped)["exactly_once"].verdict is UNKNOWN
    more = _silent(good, data_in=ENTERED + 1)
    assert _results(changed(more, without(more.history, "WorkerFinished")))["exactly_once"].verdict is FAIL


@pytest.mark.parametrize("rings", [(), ((1, 3, 3, 1),), ((1, 3, 3, 2), (7, 2, 3, 2))])
def test_rings_that_are_not_those_of_the_plan(good: CheckContext, rings: tuple[tuple[int, ...], ...]) -> None:
    assert _results(_silent(good, rings))["slots_private"].verdict is FAIL


def test_every_reason_to_keep_data_out_of_sums_is_known() -> None:
    assert set(DROP_REASONS.values()) | {"replayed", "ahead"} == set(KEPT_OUT)
    assert contributions({"data_in": 10, "duplicate": 3, "results_out": 7}) == 7


def test_the_job_of_the_plan(good: CheckContext) -> None:
    assert expected_contributions(good) == ENTERED
