"""result.json: what a run says to programs. `result.schema.json` in the same folder is its schema."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from testbed import __version__
from testbed.checkers import CheckContext, Checked, Checker, judge_fidelity, judges_of, run_checks
from testbed.checkers.registry import OF_SUMS, SUMS_JUDGED, Skipped
from testbed.checkers.slowness import excused
from testbed.checkers.twins import Figures, Twin, deviation
from testbed.figures.jct import parts_metrics
from testbed.figures.metrics import fault_table, figures_of, metrics, withhold
from testbed.history.verdict import CheckResult, Verdict, merge_results
from testbed.plan import Plan
from testbed.reading.problems import show
from testbed.report.witnesses import reference_of
from testbed.worlds.base import RunFacts

__all__ = ["SCHEMA_VERSION", "Circumstances", "document", "judge", "misfit_of_result", "result_schema", "to_json"]

SCHEMA_VERSION = 2
_BY_TIMERS = "timers"
"""way in which jobs over datagrams repair losses"""


def judge(
    context: CheckContext,
    facts: RunFacts,
    *,
    world: str,
    replay: str,
    twin: Twin | None = None,
    tried: Sequence[int] = (),
    more: Sequence[Checker] = (),
) -> dict[str, Any]:
    """All checks, the fidelity and the metrics of a finished run as one document. `replay` is the command that repeats
    the run. `facts.skipped` holds `check: reason` for what the world could not supply. `facts.partial` does so for what
    a check that was made could not see. A run in the emulated world also has its reference run. `tried`: dilations at
    which an earlier attempt had too little CPU time. `more`: checkers of the user's own."""
    values = metrics(context)
    values["jct"] |= parts_metrics(context)
    own = figures_of(values)
    fidelity = judge_fidelity(context, own, twin)
    checked = run_checks(context, (*judges_of(context), *more))
    impossible, seen_partly = _reasons(facts.skipped), _reasons(facts.partial)
    names = {item.name for item in impossible}
    left = tuple(result for result in checked.results if result.name not in names)
    if OF_SUMS in names:
        left += (CheckResult(SUMS_JUDGED, Verdict.UNKNOWN, f"this world cannot supply what {OF_SUMS} needs"),)
    checked = Checked(
        excused(left, fidelity, twin),
        (*(item for item in checked.skipped if item.name not in names), *impossible),
    )
    made = {result.name for result in checked.results}
    how = Circumstances(
        environment=facts.environment,
        world=world,
        replay=replay,
        not_seen=(*impossible, *(item for item in seen_partly if item.name in made)),
        dilation=_dilation(context.plan, facts, world, tried),
        twin=None if twin is None else _twin(own, twin),
    )
    return document(context.plan, checked, fidelity, withhold(values, fidelity), fault_table(context), how)


def _dilation(plan: Plan, facts: RunFacts, world: str, tried: Sequence[int]) -> dict[str, Any] | None:
    """None: a world without."""
    if world != "emulated" and (world != "lab" or plan.scenario.dilation in (None, 1)):
        return None
    return {"factor": plan.scenario.dilation, "tried": list(tried), "not_dilated": list(facts.not_dilated)}


def _twin(own: Figures, twin: Twin) -> dict[str, Any]:
    times = [run.seconds["JCT"] for run in twin.runs if "JCT" in run.seconds]
    return {
        "left_out": twin.left_out,
        "runs": len(twin.runs),
        "jct_s": sorted(times),
        "own_jct_s": own.seconds.get("JCT"),
        "deviation": deviation(own, twin),
        "resent": [run.resent for run in twin.runs],
        "took_s": round(twin.took_s, 3),
    }


def _reasons(texts: Iterable[str]) -> list[Skipped]:
    """Of `check: reason`."""
    return [Skipped(*(part.strip() for part in text.partition(":")[::2])) for text in texts]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How a run was made."""

    environment: dict[str, str]
    world: str
    replay: str
    """command that repeats it"""
    not_seen: Sequence[Skipped] = ()
    """what the world could not show to the checkers; the verdict is that of what they saw"""
    dilation: dict[str, Any] | None = None
    twin: dict[str, Any] | None = None


def document(
    plan: Plan,
    checked: Checked,
    fidelity: CheckResult,
    metrics: dict[str, Any],
    faults: list[dict[str, Any]],
    how: Circumstances,
) -> dict[str, Any]:
    """JSON values only; numbers that JSON has no word for (NaN, infinities) become null."""
    scenario = plan.scenario
    result = {
        "schema": SCHEMA_VERSION,
        "scenario": scenario.name,
        "description": scenario.description,
        "world": how.world,
        "seed": scenario.seed,
        "hosts": len(plan.workers),
        "protocol": " + ".join(part.scenario.job.protocol for part in plan.parts),
        "recoveries": sorted({_recovery(part) for part in plan.parts}),
        "program": scenario.switch.program,
        "verdict": str(merge_results(checked.results)),
        "reference": reference_of(plan),
        "expect": scenario.expect,
        "replay": how.replay,
        "checks": [_check(result) for result in checked.results],
        "skipped": [{"name": item.name, "reason": item.reason} for item in checked.skipped],
        "not_seen": [{"name": item.name, "reason": item.reason} for item in how.not_seen],
        "faults": faults,
        "metrics": metrics,
        "fidelity": {
            "verdict": str(fidelity.verdict),
            "detail": fidelity.detail,
            "reasons": list(fidelity.evidence),
        },
        "dilation": how.dilation,
        "twin": how.twin,
        "timers": [{"protocol": part.scenario.job.protocol, **part.timers.document} for part in plan.parts],
        "environment": {"version": __version__, **how.environment},
    }
    finite: dict[str, Any] = _finite(result)
    return finite


def _recovery(part: Plan) -> str:
    return part.scenario.transport.recovery if part.ring_workers else _BY_TIMERS


def to_json(result: dict[str, Any]) -> str:
    return json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def result_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of result.json."""
    text = resources.files("testbed.report").joinpath("result.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def misfit_of_result(document: dict[str, Any]) -> tuple[str, str, str] | None:
    """(key, what was found, what is allowed) where result.json does not fit its schema. A key that we do not know does
    no harm."""
    import jsonschema

    errors = jsonschema.Draft202012Validator(result_schema()).iter_errors(document)
    worst = jsonschema.exceptions.best_match(each for each in errors if each.validator != "additionalProperties")
    if worst is None:
        return None
    path = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in worst.absolute_path]
    key = "".join(path).removeprefix(".") or "the file"
    if worst.validator == "required":
        lacking = [name for name in worst.validator_value if name not in worst.instance]
        return key, f"no {', '.join(lacking)}", f"keys: {', '.join(worst.validator_value)}"
    return key, show(worst.instance), f"{worst.validator}: {show(worst.validator_value)}"


def _check(result: CheckResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "verdict": str(result.verdict),
        "detail": result.detail,
        "evidence": list(result.evidence),
    }


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
