from __future__ import annotations

import json

import jsonschema
import pytest

from testbed.report.document import judge, result_schema, to_json
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from testbed.worlds.base import RunFacts
from tests.support.judged import altered, changed, good_context
from tests.support.records import held
from tests.support.results import REPLAY, failing_context, lossy_context, result_of

VALIDATOR = jsonschema.Draft202012Validator(result_schema())


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(result_schema())


def test_passing_run(tmp_path, monkeypatch):
    result = result_of(lossy_context(tmp_path), monkeypatch)
    VALIDATOR.validate(json.loads(to_json(result)))
    assert (result["schema"], result["verdict"], result["replay"]) == (2, "pass", REPLAY), result["checks"]
    assert {check["verdict"] for check in result["checks"]} == {"pass"}
    assert [fault["strikes"] for fault in result["faults"]] == [2, 1]
    assert result["fidelity"]["verdict"] == "pass"
    assert result["environment"] == {"version": "0.1.0", "kernel": "6.1.0", "backend": "native", "code": "native"}


def test_failing_run(monkeypatch):
    result = result_of(failing_context(), monkeypatch)
    VALIDATOR.validate(json.loads(to_json(result)))
    verdicts = {check["name"]: check["verdict"] for check in result["checks"]}
    assert result["verdict"] == "fail"
    assert verdicts["liveness"] == "fail"
    assert verdicts["bit_exact"] == "unknown"
    assert result["skipped"] == [
        {"name": "transparency", "reason": "the scenario turns the capture off (capture: false)"}
    ]
    # the machine is judged apart from correctness
    assert result["fidelity"]["verdict"] == "unknown"
    assert "fidelity" not in verdicts
    assert result["metrics"]["goodput_bps"] is None


def test_slow_machine_leaves_the_verdict_alone(tmp_path, monkeypatch):
    context = lossy_context(tmp_path)
    context = changed(context, altered(context.history, "PlaneStatistics", {"socket_drops": 1}))
    result = result_of(context, monkeypatch)
    assert (result["verdict"], result["fidelity"]["verdict"]) == ("pass", "unknown")
    assert result["metrics"]["jct_s"] is None
    assert result["metrics"]["unreliable"]["jct_s"] > 0


def test_idle_fault_makes_a_run_unknown(tmp_path, monkeypatch):
    context = lossy_context(tmp_path)
    context.history[:] = [record for record in context.history if held(record, "fault") != "flap"]
    result = result_of(context, monkeypatch)
    assert result["verdict"] == "unknown"


def test_check_that_the_world_could_not_supply(tmp_path, monkeypatch):
    result = result_of(lossy_context(tmp_path), monkeypatch, skipped=("transparency: no room for a capture",))
    assert "transparency" not in [check["name"] for check in result["checks"]]
    assert result["skipped"] == [{"name": "transparency", "reason": "no room for a capture"}]


def test_empty_history_is_a_valid_document_too():
    context = good_context()
    context.history[:] = []
    result = judge(context, RunFacts(), world="emulated", replay=REPLAY)
    VALIDATOR.validate(json.loads(to_json(result)))
    assert result["verdict"] == "unknown"


def test_numbers_that_json_lacks(tmp_path, monkeypatch):
    context = lossy_context(tmp_path)
    context = changed(context, altered(context.history, "TrainingProgress", {"loss": float("nan")}))
    result = result_of(context, monkeypatch)
    assert result["metrics"]["training"]["loss"] is None
    VALIDATOR.validate(json.loads(to_json(result)))


@pytest.mark.parametrize("name", ["verdict", "checks", "metrics", "fidelity", "replay"])
def test_schema_wants_every_part(tmp_path, monkeypatch, name):
    result = result_of(lossy_context(tmp_path), monkeypatch)
    del result[name]
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(result)


def test_schema_refuses_what_it_does_not_know(tmp_path, monkeypatch):
    result = result_of(lossy_context(tmp_path), monkeypatch)
    for change in ({"verdict": "maybe"}, {"schema": 1}, {"extra": 1}):
        with pytest.raises(jsonschema.ValidationError):
            VALIDATOR.validate({**result, **change})


def test_a_run_that_is_routed_anew_follows_the_schema(tmp_path):
    result = run_scenario(load_scenario("grid-link-down", [], 1, "simulated"), tmp_path / "run").document
    assert result["metrics"]["routing"]["replans"]
    VALIDATOR.validate(result)
