"""What a report says of emulated time: dilation, and the twin."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import jsonschema
import pytest

from testbed.checkers import CheckContext
from testbed.checkers import reference as reference_module
from testbed.checkers.twins import Figures, Twin
from testbed.figures.metrics import figures_of, metrics
from testbed.report.document import judge, result_schema, to_json
from testbed.report.junit import junit_xml
from testbed.report.terminal import plain_summary
from testbed.worlds.base import RunFacts
from tests.support.judged import FakeSource, good_context
from tests.support.results import REPLAY


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> CheckContext:
    monkeypatch.setattr(reference_module, "default_sources", lambda: FakeSource)
    context = good_context()
    plan = replace(context.plan, scenario=replace(context.plan.scenario, dilation=8))
    return replace(context, plan=plan)


def _twin(context: CheckContext, factor: float) -> Twin:
    """One that took `factor` times as long."""
    own = figures_of(metrics(context))
    return Twin((Figures({name: value * factor for name, value in own.seconds.items()}, own.resent),), took_s=0.25)


def test_dilation_and_twin_are_in_every_report(context: CheckContext) -> None:
    facts = RunFacts(not_dilated=("background flow bulk: the kernel's TCP and its timers",))
    result = judge(context, facts, world="emulated", replay=REPLAY, twin=_twin(context, 0.98), tried=(2, 4))
    jsonschema.Draft202012Validator(result_schema()).validate(json.loads(to_json(result)))
    assert result["fidelity"]["verdict"] == "pass"
    assert result["dilation"] == {"factor": 8, "tried": [2, 4], "not_dilated": list(facts.not_dilated)}
    assert result["twin"]["deviation"] == pytest.approx(1 / 0.98 - 1)
    assert (result["twin"]["runs"], result["twin"]["left_out"], result["twin"]["took_s"]) == (1, "", 0.25)
    text = " ".join(plain_summary(result).split())
    assert "a second of it took 8 real seconds (dilation 8); the machine had too little CPU time at 2, 4" in text
    assert "not dilated: background flow bulk: the kernel's TCP and its timers" in text
    assert "the same run in virtual time: " in text
    assert ", +2.0%; it took 250 ms to run" in text
    told = ElementTree.fromstring(junit_xml(result)).findall("testsuite/properties/property")
    assert {item.get("name"): item.get("value") for item in told} == {
        "dilation": "8",
        "deviation from the twin in virtual time": "+2.04%",
    }


def test_figures_far_from_the_twin_are_withheld_and_the_verdict_stays(context: CheckContext) -> None:
    plain = judge(context, RunFacts(), world="emulated", replay=REPLAY)
    result = judge(context, RunFacts(), world="emulated", replay=REPLAY, twin=_twin(context, 0.5))
    assert result["verdict"] == plain["verdict"]
    assert (plain["fidelity"]["verdict"], plain["twin"]) == ("pass", None)
    assert result["fidelity"]["verdict"] == "unknown"
    assert (result["metrics"]["jct_s"], result["metrics"]["unreliable"]["jct_s"]) == (None, plain["metrics"]["jct_s"])
    assert result["twin"]["own_jct_s"] == plain["metrics"]["jct_s"]
    assert "+100.0% from the same run in virtual time, the limit is 5%" in " ".join(plain_summary(result).split())


def test_an_untrusted_run_that_did_not_end_says_both(context: CheckContext) -> None:
    result = judge(context, RunFacts(), world="emulated", replay=REPLAY, twin=_twin(context, 0.5))
    assert "the job did not complete" not in plain_summary(result)
    result["metrics"]["unreliable"]["jct_s"] = None
    text = " ".join(plain_summary(result).split())
    assert "the job did not complete completion time and goodput: unknown" in text


def test_a_worker_that_failed_after_its_last_result_leaves_a_goodput_without_a_jct(context: CheckContext) -> None:
    result = judge(context, RunFacts(), world="simulated", replay=REPLAY)
    assert result["metrics"]["goodput_bps"] is not None
    result["metrics"]["jct_s"] = None
    assert "the job did not complete" in plain_summary(result)


@pytest.mark.parametrize(
    ("tried", "twin", "offered"),
    [
        ((), 0.5, "auto"),
        ((1, 2, 4), 0.5, "16"),
        ((), 0.98, ""),
        ((), Twin(left_out="the reference run in virtual time failed", fails=True), "auto"),
        ((), None, ""),
    ],
    ids=["factor given", "auto", "figures hold", "no reference run", "none was asked for"],
)
def test_untrusted_figures_are_not_shown_and_a_better_setting_is(
    context: CheckContext, tried: tuple[int, ...], twin: float | Twin | None, offered: str
) -> None:
    beside = _twin(context, twin) if isinstance(twin, float) else twin
    result = judge(context, RunFacts(), world="emulated", replay=REPLAY, twin=beside, tried=tried)
    text = " ".join(plain_summary(result).split())
    offer = f"to repeat it with a better setting: {REPLAY} --dilation "
    found = [word for word in ("auto", "16") if offer + word in text]
    assert found == ([offered] if offered else [])
    assert ("completion time and goodput: unknown" in text) is bool(offered)
    assert ("job completed in" in text) is not bool(offered)
    assert "PASS bit_exact" in text


def test_other_worlds_have_neither(context: CheckContext) -> None:
    result = judge(context, RunFacts(), world="simulated", replay=REPLAY)
    assert (result["dilation"], result["twin"]) == (None, None)
