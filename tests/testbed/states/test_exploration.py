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
_TIERS = "topology={kind: spine_leaf, leaves: 2, spines: 1, hosts_per_leaf: [2, 1]}"
_OF_TIERS = {
    "leaf AnyBlock": ("bit_exact", 1), "leaf NoVersion": ("stuck", 0), "leaf NeverRepeats": ("stuck", 1),
    "leaf NoReplay": ("stuck", 1), "leaf AnswersByRack": ("bit_exact", 0), "leaf SpreadsByPartial": ("bit_exact", 0),
    "leaf KeepsAnswer": ("bit_exact", 0), "leaf ForgetsSum": ("bit_exact", 1),
}  # fmt: skip
"""the other five send more than they need, count wrongly, or need a worker that breaks the rules"""
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


@pytest.mark.parametrize(("size", "faults"), [([3, 1, 2], 1), ([3, 2, 2], 1), ([3, 1, 2], 2)], ids=str)
def test_every_state_of_two_tiers_is_good(size: list[int], faults: int) -> None:
    """Leaves that sum their racks, and the root of their partial sums."""
    found = interpreted("counted", "switchml", size, faults, [_TIERS])
    assert found["violations"] == []
    assert found["limit"] == ""
    assert found["states"] > 1000
    assert set(found["local"]) == {"h1", "h2", "h3", "leaf1", "leaf2", "spine1"}
    assert found["local"]["leaf1"] > found["local"]["leaf2"] > 1, "leaf1 sums two workers"


def test_equal_states_of_two_tiers_take_the_same_steps() -> None:
    """What a leaf counts is forgotten, and nothing that decides."""
    found = interpreted("compared", "switchml", [3, 1, 2], 1, [_TIERS])
    assert found["differences"] == []
    assert min(found["compared"].values()) > 5, found["compared"]


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
        ([3, 1, 3], 1, [_TIERS], _OF_TIERS),
    ],
    ids=["int32", "one slot", "float32", "two tiers"],
)
def test_planted_bugs_are_found_with_the_fewest_faults(
    size: list[int], faults: int, overrides: list[str], expected: dict[str, tuple[str, int]]
) -> None:
    found = interpreted("planted", "switchml", size, faults, overrides, list(expected), False)
    assert {name: each and tuple(each[:2]) for name, each in found.items()} == expected


@pytest.mark.parametrize(
    ("protocol", "size", "overrides", "expected"),
    [
        (
            "netreduce", [2, 1, 2], [],
            {
                "NSlots": ("stuck", 1), "NoTag": ("slots_empty", 1), "NoReplay": ("stuck", 1),
                "HeaderSummed": ("liveness", 0), "IcrcNotRedone": ("stuck", 0), "SlotIsPsnModulo": ("stuck", 0),
                "RetransmissionCountedTwice": ("exactly_once", 0), "ImmediateChanged": ("liveness", 0),
            },
        ),
        pytest.param(
            "netreduce", [2, 2, 4], [],
            {"no_timer": ("deadlock", 1), "nak_names_what_came": ("stuck", 1), "ReclaimsOneTooEarly": ("stuck", 1)},
            marks=pytest.mark.minutes,
        ),
        (
            "netreduce", [2, 1, 2], ["transport.recovery=irn"],
            {"CumulativeOneMore": ("stuck", 0), "names_what_came_last": ("stuck", 0)},
        ),
        (
            "atp", [2, 1, 2], [],
            {
                "ResendAddsTwice": ("exactly_once", 0), "NeverFrees": ("slots_empty", 0),
                "RepeatsAreSummed": ("exactly_once", 1), "OneSlotForAll": ("exactly_once", 1),
                "ExponentsUnchecked": ("bit_exact", 0), "results not kept": ("stuck", 0),
            },
        ),
    ],
    ids=["go-back-N", "go-back-N in a window", "IRN", "ATP"],
)  # fmt: skip
def test_planted_bugs_of_other_protocols_are_found(
    protocol: str, size: list[int], overrides: list[str], expected: dict[str, tuple[str, int]]
) -> None:
    found = interpreted("planted", protocol, size, 1, overrides, list(expected), False)
    assert {name: each and tuple(each[:2]) for name, each in found.items()} == expected


@pytest.mark.parametrize(
    ("protocol", "size", "overrides"),
    [
        ("netreduce", [2, 1, 2], []), ("netreduce", [2, 1, 2], ["transport.recovery=irn"]), ("atp", [2, 1, 1], []),
        pytest.param("esa", [2, 1, 1], [], marks=pytest.mark.minutes),
    ],
)  # fmt: skip
def test_every_state_of_other_protocols_is_good(protocol: str, size: list[int], overrides: list[str]) -> None:
    found = interpreted("counted", protocol, size, 1, overrides)
    assert (found["violations"], found["limit"]) == ([], "")
    assert found["ends"] > 0


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
