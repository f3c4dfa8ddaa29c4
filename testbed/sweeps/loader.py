"""Sweep files: YAML -> Sweep. All problems are reported at once, with file, line, key, what was found and what is
allowed."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.reading.problems import KeyPath, Place, Problems, closest, show
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.scenario.builtin import builtin_names
from testbed.sweeps.axes import SweepAxis, read_axis
from testbed.sweeps.builtin import SWEEPS, builtin_sweeps, sweep_file
from testbed.sweeps.model import MAX_TASKS, MODELS, SWEEP_NAME, Sweep
from testbed.sweeps.parameters import FAMILIES, algorithms_of, family_of
from testbed.sweeps.scenario_loader import SweepWords, read_scenario_sweep, with_words
from testbed.sweeps.scenario_model import ScenarioSweep
from workloads.errors import ScenarioError

__all__ = ["SWEEP_KEYS", "load_sweep"]

SWEEP_KEYS = ("name", "description", "model", "algorithms", "parameters")

_NO_WORDS = SweepWords()


def load_sweep(
    targets: str | Sequence[str], words: SweepWords = _NO_WORDS, model: str | None = None
) -> Sweep | ScenarioSweep:
    """What `tb sweep TARGET ...` means: one sweep (a built-in's name or a file), or scenarios. `model` overrides that
    of a sweep of models. Raises ScenarioError: all problems, in file order."""
    targets = [targets] if isinstance(targets, str) else targets
    if len(targets) == 1:
        path, shown = _sweep_file(targets[0])
        if path is not None:
            data, places = parse_yaml(read_text(path, shown), shown)
            if not isinstance(data, dict) or not {"topology", "job"} & set(data):
                return _from_file(data, places, shown, words, model, path.parent)
    if model is not None:
        raise ScenarioError(
            "means nothing for scenarios", file="tb sweep", key="--model", allowed="with a sweep of models"
        )
    data = {"name": _name_of(targets), "scenarios": list(targets)}
    places = {("scenarios", index): Place("tb sweep") for index in range(len(targets))}
    with_words(data, places, words)
    return _scenario_sweep(data, places, "tb sweep", Path())


def _sweep_file(target: str) -> tuple[Path | None, str]:
    """(file, as messages call it); None: not the name of a sweep, but maybe of a scenario."""
    if target in builtin_sweeps():
        return sweep_file(target), (SWEEPS / f"{target}.yaml").as_posix()
    if "/" in target or target.endswith((".yaml", ".yml")) or os.path.exists(target):
        return Path(target), target
    if target in builtin_names():
        return None, target
    known = (*builtin_sweeps(), *builtin_names())
    raise ScenarioError(
        "no such sweep or scenario", file="tb sweep", found=show(target),
        allowed="a file (*.yaml), or a name from `tb list sweeps` or `tb list scenarios`", hint=closest(target, known),
    )  # fmt: skip


def _from_file(
    data: Any, places: dict[KeyPath, Place], shown: str, words: SweepWords, model: str | None, folder: Path
) -> Sweep | ScenarioSweep:
    if isinstance(data, dict) and "scenarios" in data:
        if model is not None:
            raise ScenarioError(
                "means nothing for scenarios", file="tb sweep", key="--model", allowed="with a sweep of models"
            )
        with_words(data, places, words)
        return _scenario_sweep(data, places, shown, folder)
    if isinstance(data, dict) and (given := words.given()):
        first = next(iter(given))
        key = f"--{next(iter(words.plot))}" if first == "plot" else "--world" if "worlds" in given else f"--{first}"
        raise ScenarioError("means nothing for a sweep of models", file="tb sweep", key=key, allowed="with scenarios")
    if isinstance(data, dict):
        with_words(data, places, words, "parameters")
    return _parse(data, places, shown, model)


def _scenario_sweep(data: dict[str, Any], places: dict[KeyPath, Place], source: str, folder: Path) -> ScenarioSweep:
    problems = Problems(source, places)
    sweep = read_scenario_sweep(data, problems, source, folder)
    problems.raise_if_any()
    assert sweep is not None
    return sweep


def _name_of(targets: Sequence[str]) -> str:
    """Of a sweep that has no file: of its scenarios."""
    stems = [re.sub(r"[^a-z0-9]+", "-", Path(target).stem.lower()).strip("-") or "scenario" for target in targets]
    return (stems[0] if len(stems) == 1 else f"{stems[0]}-and-{len(stems) - 1}-more")[:63].strip("-")


def parse_sweep(text: str, source: str, model: str | None = None) -> Sweep:
    """As `load_sweep`, from text; `source` is the file name that messages show."""
    return _parse(*parse_yaml(text, source), source, model)


def _parse(data: Any, places: dict[KeyPath, Place], source: str, model: str | None) -> Sweep:
    if not isinstance(data, dict):
        problem = "the file is empty" if data is None else "the file is not a mapping"
        found = None if data is None else show(data)
        raise ScenarioError(problem, file=source, found=found, allowed=f"keys: {', '.join(SWEEP_KEYS)}")
    problems = Problems(source, places)
    if model is not None:
        data["model"], places["model",] = model, Place("--model")
    sweep = _Build(problems, data).sweep(source)
    problems.raise_if_any()
    assert sweep is not None
    return sweep


class _Build:
    def __init__(self, problems: Problems, data: dict[str, Any]) -> None:
        self.problems, self.data = problems, data

    def sweep(self, source: str) -> Sweep | None:
        problems, data = self.problems, self.data
        for key in data:
            if key not in SWEEP_KEYS:
                problems.add((key,), "unknown key", allowed=", ".join(SWEEP_KEYS), hint=closest(key, SWEEP_KEYS))
        for key in ("name", "model", "algorithms", "parameters"):
            if data.get(key) is None:
                problems.add((key,), "is missing" if key not in data else "has no value", allowed="a value")
        name, text = data.get("name"), data.get("description")
        if name is not None and (not isinstance(name, str) or not SWEEP_NAME.match(name)):
            allowed = "a-z, 0-9 and - inside, at most 63 characters"
            problems.add(("name",), "not a name", found=show(name), allowed=allowed)
        if text is not None and not isinstance(text, str):
            problems.add(("description",), "not text", found=show(text), allowed="text")
        model, given = data.get("model"), data.get("parameters")
        if model is not None and (not isinstance(model, str) or model not in MODELS):
            problems.add(
                ("model",), "unknown model", found=show(model), allowed=", ".join(MODELS), hint=closest(model, MODELS)
            )
            model = None
        if given is not None and not isinstance(given, dict):
            problems.add(("parameters",), "not a mapping", found=show(given), allowed="parameters with values")
            given = None
        family = family_of(list(given)) if given else None
        algorithms = self._algorithms(family, model)
        axes = self._axes(given, family) if given is not None and family else None
        if given == {}:
            problems.add(("parameters",), "has no value", allowed="parameters with values")
        if axes is None or not algorithms or model is None or family is None:
            return None
        points = math.prod(axis.count for axis in axes.values())
        total = points * len(algorithms)
        if total > MAX_TASKS:
            problems.add(
                ("parameters",), "too many points",
                found=f"{points:,} points" + (f" x {len(algorithms)} algorithms = {total:,}" if total > points else ""),
                allowed=f"at most {MAX_TASKS:,} in all", hint="shorten a list, or take a larger factor or step",
            )  # fmt: skip
        if problems:
            return None
        made = tuple((name, tuple(axis.make())) for name, axis in axes.items())
        return Sweep(data["name"], data.get("description") or "", family, model, algorithms, made, source)

    def _algorithms(self, family: str | None, model: str | None) -> tuple[str, ...]:
        given = self.data.get("algorithms")
        if given is None:
            return ()
        if not isinstance(given, list) or not given:
            found = "an empty list" if given == [] else show(given)
            self.problems.add(
                ("algorithms",), "not a list of algorithms", found=found, allowed="at least one, as [ring]"
            )
            return ()
        if family is None or model is None:
            return ()
        known = algorithms_of(family, model)
        for index, name in enumerate(given):
            if name not in known:
                here = f"{model} model of {'machines' if family == 'machines' else 'a rack'}"
                self.problems.add(
                    ("algorithms", index), f"unknown algorithm of the {here}", found=show(name),
                    allowed=", ".join(_closest_first(name, known)) or "none", hint=closest(name, known),
                )  # fmt: skip
            elif given.index(name) != index:
                self.problems.add(("algorithms", index), "named twice", found=show(name), allowed="each once")
        return tuple(name for name in given if isinstance(name, str))

    def _axes(self, given: dict[str, Any], family: str) -> dict[str, SweepAxis] | None:
        known = FAMILIES[family]
        axes: dict[str, SweepAxis] = {}
        for name, value in given.items():
            path = ("parameters", name)
            if name not in known:
                hint = closest(name, known)
                self.problems.add(path, f"unknown parameter of {family}", allowed=", ".join(known), hint=hint)
            elif value is None:
                self.problems.add(path, "has no value", allowed="a value, a list, or a range")
            elif (axis := read_axis(self.problems, path, value, known[name])) is not None:
                axes[name] = axis
        for name, parameter in known.items():
            if parameter.default is None and name not in given:
                self.problems.add(("parameters", name), "is missing", allowed=f"{parameter.allowed}, or several")
        return axes if len(axes) == len(given) else None


def _closest_first(name: object, known: tuple[str, ...]) -> list[str]:
    return sorted(known, key=lambda word: -difflib.SequenceMatcher(None, str(name).lower(), word.lower()).ratio())
