"""Sweep files: YAML -> Sweep. Every problem is told at once, with file, line, key, what was found and what is allowed."""

from __future__ import annotations

import difflib
import math
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from testbed.reading.problems import Place, Problems, closest, show
from testbed.reading.yamlfile import parse_yaml, read_text
from testbed.sweeps.axes import Axis, read_axis
from testbed.sweeps.model import MAX_TASKS, MODELS, Sweep
from testbed.sweeps.parameters import FAMILIES, algorithms_of, family_of
from workloads.errors import ScenarioError

__all__ = ["SWEEP_KEYS", "builtin_sweeps", "load_sweep", "parse_sweep"]

SWEEP_KEYS = ("name", "description", "model", "algorithms", "parameters")

_WORD = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z", re.ASCII)
_TOP = Path(str(files("playbooks"))).parent
_FOLDER = Path("playbooks") / "sweeps"


def builtin_sweeps() -> tuple[str, ...]:
    """In alphabetical order."""
    return tuple(sorted(path.stem for path in (_TOP / _FOLDER).glob("*.yaml")))


def load_sweep(name_or_path: str, model: str | None = None) -> Sweep:
    """A built-in by name, or a file; `model` overrides the file's. Raises ScenarioError: all problems, in file order."""
    if name_or_path in builtin_sweeps():
        relative = _FOLDER / f"{name_or_path}.yaml"
        return parse_sweep(read_text(_TOP / relative, relative.as_posix()), relative.as_posix(), model)
    if "/" not in name_or_path and not name_or_path.endswith((".yaml", ".yml")) and not Path(name_or_path).exists():
        raise ScenarioError(
            "no such sweep", file="tb sweep", found=show(name_or_path),
            allowed="a file (*.yaml), or a name from `tb list sweeps`", hint=closest(name_or_path, builtin_sweeps()),
        )  # fmt: skip
    return parse_sweep(read_text(Path(name_or_path), name_or_path), name_or_path, model)


def parse_sweep(text: str, source: str, model: str | None = None) -> Sweep:
    """As `load_sweep`, from text; `source` is the file name that messages show."""
    data, places = parse_yaml(text, source)
    if not isinstance(data, dict):
        problem = "the file is empty" if data is None else "the file is not a mapping"
        found = None if data is None else show(data)
        raise ScenarioError(problem, file=source, found=found, allowed=f"keys: {', '.join(SWEEP_KEYS)}")
    if "parameters" not in data and {"topology", "job"} & set(data):
        raise ScenarioError(
            "a scenario, not a sweep", file=source, found=", ".join(data), allowed=f"keys: {', '.join(SWEEP_KEYS)}",
            hint=f"`tb run {source}` runs it",
        )  # fmt: skip
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
        if name is not None and (not isinstance(name, str) or not _WORD.match(name)):
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

    def _axes(self, given: dict[str, Any], family: str) -> dict[str, Axis] | None:
        known = FAMILIES[family]
        axes: dict[str, Axis] = {}
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
