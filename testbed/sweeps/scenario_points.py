"""A sweep over scenarios -> its points, each checked before anything runs."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from testbed.comparison.known_figures import unknown_figure
from testbed.reading.problems import InvalidScenario, show
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.runs.changes import as_overrides
from testbed.scenario import dump_scenario
from testbed.scenario.builtin import find_scenario
from testbed.scenario.loader import parse_scenario
from testbed.scenario.overrides import apply_override
from testbed.scenario.own_program import PROGRAM_KEY, is_own_program, set_words, with_stock_code
from testbed.sweeps.protocols import under_protocol
from testbed.sweeps.scenario_model import Point, ScenarioSweep, Variant
from workloads.errors import ScenarioError

__all__ = ["make_points"]

_AS_IT_IS = Variant("")


def make_points(sweep: ScenarioSweep) -> list[Point]:
    """In the order of the sweep: scenarios, variants, axes, worlds, seeds. A point whose scenario is invalid says why.
    Raises ScenarioError when no point is valid, for a value of an axis that makes every point invalid, and when a
    scenario cannot be read. Also for a figure that no run can have."""
    points, errors = list[Point](), list[ScenarioError]()
    for name in sweep.scenarios:
        points += _of_scenario(sweep, name, errors)
    if len(errors) == len(points):
        raise errors[0]
    _refuse_values(sweep, points)
    _check_figures(sweep, dict.fromkeys(name for point in points for name in point.faults))
    return points


def _refuse_values(sweep: ScenarioSweep, points: Collection[Point]) -> None:
    """Raises ScenarioError for a value of an axis with which every point is invalid: a slip of the pen."""
    for key, values in sweep.axes:
        for value in values:
            problems = [point.problem for point in points if point.values[key] == value]
            if all(problems):
                raise ScenarioError(
                    "no scenario and no protocol of the sweep takes this value", file=sweep.source, key=f"axes.{key}",
                    found=show(value), allowed=f"what `tb run --set {key}=VALUE` takes", hint=problems[0],
                )  # fmt: skip


def _check_figures(sweep: ScenarioSweep, faults: Collection[str]) -> None:
    for figure in sweep.figures:
        unknown = unknown_figure(figure, faults)
        if unknown is not None:
            allowed, hint = unknown
            raise ScenarioError(
                "no run can have this figure", file=sweep.source, key="figures", found=show(figure), allowed=allowed,
                hint=hint,
            )  # fmt: skip


def _of_scenario(sweep: ScenarioSweep, name: str, errors: list[ScenarioError]) -> Iterator[Point]:
    path, shown = find_scenario(name)
    data, _ = parse_yaml(read_text(path, shown), shown)
    if not isinstance(data, dict):
        raise ScenarioError("not a scenario", file=shown, allowed="a mapping; `tb validate` says more")
    keys = [key for key, _ in sweep.axes]
    for variant in sweep.variants or (_AS_IT_IS,):
        for values in itertools.product(*(values for _, values in sweep.axes)):
            chosen = dict(zip(keys, values, strict=True))
            for world in sweep.worlds or (None,):
                labels = [
                    ("scenario", name),
                    *([(sweep.variant_name, variant.label)] if sweep.variants else []),
                    *chosen.items(),
                ]
                labels += [] if world is None else [("world", world)]
                for seed in sweep.seeds or (None,):
                    try:
                        yield _valid(sweep, data, (shown, path.parent), variant, chosen, tuple(labels), world, seed)
                    except ScenarioError as error:
                        errors.append(error)
                        yield Point(tuple(labels), seed or 0, world or "", "", problem=_describe(error))


def _valid(
    sweep: ScenarioSweep,
    data: dict[str, Any],
    source: tuple[str, Path],
    variant: Variant,
    chosen: dict[str, Any],
    labels: tuple[tuple[str, Any], ...],
    world: str | None,
    seed: int | None,
) -> Point:
    shown, folder = source
    changed = copy.deepcopy(data)
    where = f"{shown} ({', '.join(f'{name}={value}' for name, value in labels[1:])})" if labels[1:] else shown
    for override in sweep.changes:
        apply_override(changed, {}, override)
    for override in as_overrides(chosen):
        _apply(changed, override, where)
    if variant.protocol:
        changed = under_protocol(changed, variant.protocol)
    for override in as_overrides(dict(variant.changes)):
        _apply(changed, override, where)
    # JSON is YAML in which no word can be taken for something else.
    switch, words = changed.get("switch"), list[str]()
    if sweep.names_code and isinstance(switch, dict) and is_own_program(str(switch.get("program", ""))):
        words = set_words(PROGRAM_KEY, switch["program"])[1:]
        changed["switch"] = {key: value for key, value in switch.items() if key != "program"}
    try:
        scenario = parse_scenario(json.dumps(changed), where, words, seed, world, folder)
    except InvalidScenario as error:
        raise InvalidScenario(map(_without_line, error.problems)) from None
    program = scenario.switch.program if is_own_program(scenario.switch.program) else ""
    text = dump_scenario(with_stock_code(scenario))
    faults = tuple(fault.name for fault in scenario.faults)
    return Point(labels, scenario.seed, scenario.world, text, program, expect=scenario.expect, faults=faults)


def _apply(changed: dict[str, Any], override: str, where: str) -> None:
    """What an axis or a variant asks for. Raises ScenarioError that names the point, since there is no `--set`
    to name."""
    try:
        apply_override(changed, {}, override)
    except ScenarioError as error:
        raise ScenarioError(
            error.problem, file=where, key=error.key, found=error.found, allowed=error.allowed, hint=error.hint
        ) from None


def _without_line(error: ScenarioError) -> ScenarioError:
    """What is checked here is on one line, which is none of the file's."""
    return ScenarioError(
        error.problem, file=error.file, key=error.key, found=error.found, allowed=error.allowed, hint=error.hint
    )


def _describe(error: ScenarioError) -> str:
    """Of several problems the first, without the file: the point names it."""
    first = getattr(error, "problems", (error,))[0]
    bare = ScenarioError(
        first.problem, file=first.key or "scenario", found=first.found, allowed=first.allowed, hint=first.hint
    )
    return str(bare)
