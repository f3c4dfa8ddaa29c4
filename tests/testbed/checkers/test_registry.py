import pytest

from testbed.checkers import checkers, register_checker, registry, run_checks
from testbed.checkers.checker import Checker
from testbed.checkers.registry import Skipped
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.activity import activities
from tests.support.judged import good_context


def passing(context):
    return CheckResult("mine", Verdict.PASS, f"{len(context.history)} records")


def crashing(context):
    raise KeyError("contributions")


def test_stock_checkers_are_registered_in_a_readable_order():
    assert [checker.name for checker in checkers()] == [
        "bit_exact", "training", "exactly_once", "liveness", "credit_bound", "slots_private", "transparency",
        "unreliable",
        "uplinks", "steering", "congestion",
        "early_drops", "pfc_lossless", "pfc_deadlock", "pfc_pause_time", "faults_exercised", "no_crash", "no_leftovers",
    ]  # fmt: skip


def test_a_user_adds_a_checker(monkeypatch):
    known = dict(registry._registered())
    monkeypatch.setattr(registry, "_registered", lambda: known)
    register_checker("mine", passing, proves="that I can")
    assert checkers()[-1].name == "mine"
    with pytest.raises(ValueError, match="'mine' is registered already"):
        register_checker("mine", passing, proves="twice")


def test_a_crashing_checker_is_unknown_and_stops_nobody():
    among = [
        Checker("bad", crashing, ""),
        Checker("mine", passing, ""),
        Checker("odd", passing, "", skip=crashing),
        Checker("no", passing, "", skip=lambda context: "does not apply"),
        Checker("silent", passing, "", skip=lambda context: ""),
    ]
    checked = run_checks(good_context(), among)
    assert [(result.name, result.verdict) for result in checked.results] == [
        ("bad", Verdict.UNKNOWN),
        ("mine", Verdict.PASS),
        ("odd", Verdict.UNKNOWN),
    ]
    assert checked.results[0].detail == "the checker itself failed: KeyError: 'contributions'"
    assert checked.skipped == (Skipped("no", "does not apply"),)  # "silent" is not worth a word


def test_what_does_not_apply_to_a_ring_is_skipped():
    context = good_context(protocol="ring", program="forward")
    skipped = {item.name for item in run_checks(context).skipped}
    assert skipped == {"exactly_once", "credit_bound", "slots_private"}
    shift = good_context(protocol="shift", program="forward")
    assert {item.name for item in run_checks(shift).skipped} == {"exactly_once", "slots_private"}


def test_the_progress_line_says_that_a_check_goes_on():
    """The bare name of a check looked like one that had failed."""
    shown = []

    def looking(context):
        shown.append([each.state().text for each in activities()])
        return passing(context)

    run_checks(good_context(), [Checker("mine", looking, proves="nothing")])
    assert shown == [["checking mine"]]
