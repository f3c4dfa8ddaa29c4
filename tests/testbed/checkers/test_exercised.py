"""A fault that never hit proves nothing."""

from __future__ import annotations

import pytest

from testbed.checkers.exercised import faults_exercised
from testbed.faults.model import Burst, Delay, Drop, Kill, Loss, Match, Pause, RateChange, Window
from testbed.history.verdict import Verdict
from tests.support.judged import changed, good_context
from tests.support.records import a_record

PASS, UNKNOWN = Verdict.PASS, Verdict.UNKNOWN


def struck(fault, kind="loss", **fields):
    told = {"backend": "user", "target": "h1-s1", "direction": "up", "opcode": 7, "occurrence": 1, **fields}
    return a_record(9, "s1", "FaultStruck", fault=fault, kind=kind, **told)  # fmt: skip


def test_no_fault_asked_for(good):
    assert faults_exercised(good).verdict is PASS


def test_every_fault_must_strike():
    faults = (
        Loss("loss-1", links=("h1-s1",), rate=0.01),
        RateChange("slow", links=("h1-s1",), rate_bps=10**6),
        Kill("kill-1", node="s1"),
        Pause("pause-1", node="h1"),
    )
    context = good_context(*faults)
    all_of_them = [struck(fault.name) for fault in faults]
    result = faults_exercised(changed(context, [*context.history, *all_of_them, struck("loss-1")]))
    assert (result.verdict, result.detail) == (
        PASS,
        "every fault hit: loss-1 2x, slow 1x, kill-1 1x, pause-1 1x",
    )
    for missing in range(4):
        some = [record for record in all_of_them if record.event.fault != faults[missing].name]
        result = faults_exercised(changed(context, [*context.history, *some]))
        assert result.verdict is UNKNOWN
        assert f"{faults[missing].name} never hit" in result.detail


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Loss("f", rate=0.01), "at a rate of 0.01 too few packets matched"),
        (Drop("f", match=Match(message=99)), "no packet matched its conditions"),
        (Drop("f", window=Window(start_ns=10**12)), "it starts at 1,000 s and the run ended at 8"),
        (Drop("f"), "no packet crossed its links while it was active"),
        (Pause("f", node="h1"), "the world did not carry it out"),
    ],
)
def test_why_a_fault_did_not_strike(fault, why):
    assert why in faults_exercised(good_context(fault)).detail


def unseen(**fields):
    return a_record(9, "s1", "KernelFaultsUnseen", link="h1-s1", direction="up", **fields)  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {"uncounted": 1200},
            "h1-s1 up: 1,200 frames passed without a decision, since the eBPF program's table of identities was full",
        ),
        (
            {"undescribed": 3},
            "h1-s1 up: 3 hits are not recorded one by one, since the eBPF program's log was full",
        ),
    ],
)
def test_what_the_kernel_could_not_count_or_tell_leaves_the_verdict_open(fields, why):
    context = good_context(Loss("loss-1", links=("h1-s1",), rate=0.01))
    result = faults_exercised(changed(context, [*context.history, struck("loss-1", backend="ebpf"), unseen(**fields)]))
    assert (result.verdict, result.detail) == (UNKNOWN, why)


def test_netem_tells_no_strike():
    context = good_context(Loss("loss-1", links=("h1-s1",), rate=0.01))
    told = a_record(0, "world", "FaultByChance", fault="loss-1", link="h1-s1", direction="up")
    result = faults_exercised(changed(context, [*context.history, told]))
    assert (result.verdict, result.detail) == (
        UNKNOWN,
        "loss-1: netem applies it by its own random choices and reports no hits",
    )


SILENT = [
    Loss("zero", links=("h1-s1",), rate=0.0),
    Drop("zero", links=("h1-s1",), rate=0.0),
    Burst("zero", links=("h1-s1",), rate=0.0),
    Burst("zero", links=("h1-s1",), rate=0.1, loss_bad=0.0),
    Delay("zero", links=("h1-s1",), rate=0.0, delay_ns=1),
]


@pytest.mark.parametrize("fault", SILENT)
def test_a_rate_of_0_is_expected_not_to_strike(fault):
    context = good_context(fault)
    result = faults_exercised(context)
    assert (result.verdict, result.detail) == (PASS, "zero: a rate of 0, expected not to hit")
    result = faults_exercised(changed(context, [*context.history, struck("zero"), struck("zero")]))
    assert (result.verdict, result.detail) == (Verdict.FAIL, "zero has a rate of 0 and hit 2x")


def test_a_burst_that_loses_in_its_good_state_must_strike():
    assert faults_exercised(good_context(Burst("b", links=("h1-s1",), rate=0.0, loss_good=0.1))).verdict is UNKNOWN


def test_faults_that_strike_and_those_that_must_not_are_told_together():
    context = good_context(Loss("loss-1", links=("h1-s1",), rate=0.01), SILENT[0])
    result = faults_exercised(changed(context, [*context.history, struck("loss-1")]))
    assert (result.verdict, result.detail) == (
        PASS,
        "every fault hit: loss-1 1x; zero: a rate of 0, expected not to hit",
    )
