"""All states of small configurations: counts, violations of planted bugs, and their replays."""

from __future__ import annotations

import pytest

from tests.support.states_cases import interpreted

_INT32 = {
    "NoShadowCopy": ("bit_exact", 1), "NoVersionBit": ("stuck", 0), "NoReplay": ("stuck", 1),
    "BitmapIgnored": ("exactly_once", 0), "BelievesOldCopies": ("slots_empty", 1),
    "takes_any_result": ("bit_exact", 0), "sends_again_once": ("deadlock", 1), "runs_ahead": ("deadlock", 0),
    "NewestForgotten": ("slots_empty", 1), "OlderOrEqual": ("stuck", 1), "MovesAllOn": ("stuck", 1),
    "ReplaysTheOtherVersion": ("bit_exact", 1), "CompletesByCount": ("exactly_once", 0),
    "SaturatingPool": ("bit_exact", 0), "window_one_larger": ("stuck", 0), "version_by_packet": ("stuck", 0),
    "never_sends_again": ("deadlock", 1),
}  # fmt: skip
"""planted bug -> (check, faults) with 2 workers, 2 slots and 3 blocks"""
_ONE_SLOT = {
    "NeverForgets": ("stuck", 0), "AddsToTheOldSum": ("bit_exact", 0), "FirstByCount": ("exactly_once", 0),
}  # fmt: skip
"""bugs that need a slot to be used three times"""
_FLOATS = {
    "LastExponents": ("stuck", 0), "versions_begin_anew": ("stuck", 0), "LengthOfTheFirst": ("stuck", 0),
}  # fmt: skip
"""bugs that need exponents, or two iterations"""


def test_every_state_of_a_small_switchml_is_good() -> None:
    found = interpreted("counted", "switchml", [2, 2, 3], 1)
    assert found["violations"] == []
    assert found["limit"] == ""
    assert found["states"] == sum(found["by_faults"]) > 1000
    assert found["local"]["h1"] == found["local"]["h2"], "workers are alike"


def test_the_reduction_omits_states_and_no_end() -> None:
    reduced, full = (interpreted("counted", "switchml", [2, 1, 2], 1, [], full) for full in (False, True))
    assert reduced["states"] < full["states"]
    assert reduced["ends"] == full["ends"]
    assert reduced["local"] == full["local"]
    assert reduced["violations"] == full["violations"] == []


@pytest.mark.parametrize(
    ("size", "faults", "overrides", "expected"),
    [
        ([2, 2, 3], 1, [], _INT32),
        ([2, 1, 4], 0, [], _ONE_SLOT),
        ([2, 1, 2], 0, ["job.dtype=float32", "job.iterations=2"], _FLOATS),
    ],
    ids=["int32", "one slot", "float32"],
)
def test_planted_bugs_are_found_with_the_fewest_faults(
    size: list[int], faults: int, overrides: list[str], expected: dict[str, tuple[str, int]]
) -> None:
    found = interpreted("planted", "switchml", size, faults, overrides, list(expected), False)
    assert {name: each and tuple(each[:2]) for name, each in found.items()} == expected


def test_a_bug_of_two_losses_needs_two_faults() -> None:
    name = ["AnswersOnce"]
    assert interpreted("planted", "switchml", [2, 1, 3], 1, [], name, False) == {"AnswersOnce": None}
    check, faults, _, _ = interpreted("planted", "switchml", [2, 1, 3], 2, [], name, False)["AnswersOnce"]
    assert (check, faults) == ("stuck", 2)


def test_a_trace_replays_as_a_scenario() -> None:
    names = ["NoShadowCopy", "NoReplay", "BelievesOldCopies", "sends_again_once", "takes_any_result"]
    found = interpreted("planted", "switchml", [2, 2, 3], 1, [], names, True)
    assert {name: found[name][3] for name in names} == {
        "NoShadowCopy": "bit_exact", "NoReplay": "liveness", "BelievesOldCopies": "liveness",
        "sends_again_once": "liveness", "takes_any_result": "bit_exact",
    }  # fmt: skip
