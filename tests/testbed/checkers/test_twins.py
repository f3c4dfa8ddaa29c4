"""An emulated run beside its reference runs in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.checkers.twins import (
    TOLERANCE,
    Figures,
    Twin,
    deviation,
    is_by_identity,
    judge_twin,
    needs_several,
)
from testbed.faults.model import Corrupt, Drop, Kill, Loss, Pause, Window
from testbed.scenario.model import Transport
from tests.support.judged import small_plan
from topologies import LinkShape, rack

LINKS = ("h1-s1",)
SCENARIO = small_plan().scenario
times = st.floats(0.001, 100.0)


def figures(jct: float | None, resent: int | None = 0, **more: float) -> Figures:
    return Figures(({} if jct is None else {"JCT": jct}) | more, resent)


def twin_of(*jcts: float, resent: int = 0, by_identity: bool = False) -> Twin:
    return Twin(tuple(figures(jct, resent) for jct in jcts), by_identity)


@pytest.mark.parametrize(
    ("own", "good"), [(1.0, True), (1.0499, True), (1.0501, False), (0.9501, True), (0.9499, False)]
)
def test_five_percent_of_one_twin(own: float, good: bool) -> None:
    assert (judge_twin(figures(own), twin_of(1.0)) == []) is good


def test_the_reason_names_deviation_and_limit_and_no_figure() -> None:
    assert judge_twin(figures(0.2), twin_of(0.1)) == ["JCT: +100.0% from the same run in virtual time, the limit is 5%"]
    assert judge_twin(figures(0.2), twin_of(0.1, 0.15)) == [
        "JCT: +33.3% from the range of 2 runs in virtual time, the limit is 5%"
    ]


@given(times, st.lists(times, min_size=1, max_size=5))
def test_it_passes_exactly_inside_the_range_widened_by_five_percent(own: float, jcts: list[float]) -> None:
    low, high = min(jcts), max(jcts)
    off = deviation(figures(own), twin_of(*jcts))
    assert off is not None
    assert (off == 0) == (low <= own <= high)
    assert (judge_twin(figures(own), twin_of(*jcts)) == []) == (abs(off) <= TOLERANCE)
    if not low <= own <= high:
        assert off == own / (low if own < low else high) - 1


@given(times, st.lists(times, min_size=1, max_size=5))
def test_a_further_twin_never_condemns_a_run(own: float, jcts: list[float]) -> None:
    fewer = judge_twin(figures(own), twin_of(*jcts[:-1], jcts[0]))
    assert not judge_twin(figures(own), twin_of(*jcts)) or fewer


def test_every_figure_is_compared() -> None:
    own = Figures({"JCT": 1.0, "JCT of job two": 0.6}, 0)
    twin = Twin((Figures({"JCT": 1.0, "JCT of job two": 0.5}, 0),))
    assert [reason.partition(":")[0] for reason in judge_twin(own, twin)] == ["JCT of job two"]


def test_under_chance_single_jobs_are_draws_and_their_average_counts() -> None:
    own = Figures({"JCT": 1.0, "JCT of job two": 0.9, "average JCT": 0.7}, 0)
    twin = Twin(tuple(Figures({"JCT": 1.0, "JCT of job two": 0.5, "average JCT": 0.5}, 0) for _ in range(2)))
    assert [reason.partition(":")[0] for reason in judge_twin(own, twin)] == ["average JCT"]


def test_a_job_that_only_one_of_them_completed() -> None:
    assert judge_twin(figures(None), twin_of(1.0)) == [
        "JCT: the reference run in virtual time has it, this run does not"
    ]
    assert judge_twin(figures(1.0), Twin((figures(None),))) == ["JCT: the reference run in virtual time has none"]
    assert judge_twin(figures(None), Twin((figures(None),))) == []


@pytest.mark.parametrize(
    ("resent", "twin", "good"),
    [
        (4, twin_of(1.0, resent=4, by_identity=True), True),
        (52, twin_of(1.0, resent=4, by_identity=True), False),
        (3, twin_of(1.0, resent=0), False),
        (3, twin_of(1.0, resent=4), True),
        (3, twin_of(1.0, 1.0, resent=4), True),
        (3, twin_of(1.0, 1.0, resent=0), False),
        (5, Twin((figures(1.0, 4), figures(1.0, 5)), True), True),
        (6, Twin((figures(1.0, 4), figures(1.0, 5)), True), False),
        (None, twin_of(1.0, resent=4, by_identity=True), True),
    ],
)
def test_packets_sent_again_are_equal_where_nothing_is_left_to_chance(
    resent: int | None, twin: Twin, good: bool
) -> None:
    reasons = judge_twin(figures(1.0, resent), twin)
    counts = ", ".join(map(str, sorted({run.resent for run in twin.runs})))
    assert reasons == ([] if good else [f"{resent} packets were sent again, in virtual time {counts}"])


def test_a_twin_that_was_left_out_judges_nothing() -> None:
    assert judge_twin(figures(9.0), Twin(left_out="no reference run: TCP")) == []
    assert deviation(figures(9.0), Twin(left_out="no reference run: TCP")) is None


def test_a_twin_that_was_too_slow_leaves_the_figures_unknown() -> None:
    assert judge_twin(figures(1.0), Twin(left_out="too slow", fails=True)) == ["too slow"]


@pytest.mark.parametrize(
    ("faults", "exact"),
    [
        ((), False),
        ((Drop("d", LINKS),), True),
        ((Drop("d", LINKS), Corrupt("c", LINKS, rate=1.0)), True),
        ((Drop("d", LINKS), Loss("l", LINKS, rate=0.1)), False),
        ((Corrupt("c", LINKS, rate=0.1),), False),
        ((Drop("d", LINKS, window=Window(5)),), False),
        ((Pause("p", node="h1", window=Window(5, 9)),), False),
    ],
)
def test_what_strikes_by_identity(faults: tuple, exact: bool) -> None:
    assert is_by_identity(faults) is exact


def test_when_one_twin_is_one_draw() -> None:
    quiet, resent = figures(1.0, 0), figures(1.0, 7)

    def several(*faults, first: Figures = quiet) -> bool:
        return needs_several(replace(SCENARIO, faults=faults), first)

    assert not several()
    assert several(first=resent)
    assert several(Loss("l", LINKS, rate=0.1))
    assert not several(Loss("l", LINKS, rate=0.0))
    assert not several(Drop("d", LINKS))
    assert several(Drop("d", LINKS), first=resent)
    assert several(Kill("k", node="h1", window=Window(5)))
    assert needs_several(replace(SCENARIO, topology=rack(3, LinkShape(jitter_ns=5))), quiet)
    assert needs_several(replace(SCENARIO, transport=Transport(congestion_control="dcqcn")), quiet)
