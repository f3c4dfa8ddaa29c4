"""Sweeps over scenarios: from a file, from the words of a command line, or from both, to one ScenarioSweep."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.comparison.known_figures import unknown_figure
from testbed.reading.problems import KeyPath, Place, Problems, closest, show
from testbed.runs.changes import as_overrides
from testbed.runs.run import world_names
from testbed.scenario.builtin import builtin_names
from testbed.scenario.overrides import SET_FILE
from testbed.scenario.own_program import PROGRAM_KEY
from testbed.sweeps.model import SWEEP_NAME
from testbed.sweeps.plots.options import read_plot
from testbed.sweeps.protocols import require_protocol
from testbed.sweeps.scenario_model import MAX_POINTS, ScenarioSweep, Variant
from testbed.sweeps.values import AXIS_FILE, MOST_VALUES, read_values, split_axis
from workloads.errors import ScenarioError

__all__ = ["SCENARIO_SWEEP_KEYS", "SweepWords", "known_names", "read_scenario_sweep", "with_words"]

SCENARIO_SWEEP_KEYS = (
    "name", "description", "scenarios", "protocols", "variants", "axes", "seeds", "worlds", "set", "figures", "plot",
)  # fmt: skip
_WORDS = {
    "worlds": "--world",
    "protocols": "--protocols",
    "seeds": "--seeds",
    "figures": "--figures",
    "set": "--set",
    "variants": "variants",
    "plot": "--plot",
}


@dataclass(frozen=True, slots=True)
class SweepWords:
    """What a command line says of a sweep, instead of its file."""

    axes: Sequence[str | tuple[str, Any]] = ()
    """`KEY=VALUES`; or a key and its values, as a sweep file holds them"""
    protocols: Sequence[str] = ()
    seeds: int | tuple[int, ...] | None = None
    """so many, from 1 on; or these"""
    worlds: Sequence[str] = ()
    overrides: Sequence[str] = ()
    """`key=value`"""
    figures: Sequence[str] = ()
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """variants by label; only from Python"""
    plot: Mapping[str, str] = field(default_factory=dict)
    """keys of `plot`"""

    def given(self) -> dict[str, Any]:
        """By key of a sweep file; axes are apart."""
        seeds = list(self.seeds) if isinstance(self.seeds, tuple) else self.seeds
        words: dict[str, Any] = {"protocols": list(self.protocols), "seeds": seeds, "worlds": list(self.worlds)}
        words |= {"set": list(self.overrides), "figures": list(self.figures)}
        words |= {"variants": {label: dict(keys) for label, keys in self.variants.items()}, "plot": dict(self.plot)}
        return {key: value for key, value in words.items() if value not in (None, [], {})}


def with_words(data: dict[str, Any], places: dict[KeyPath, Place], words: SweepWords, section: str = "axes") -> None:
    """Change the data of a sweep file in place; an axis of the command line takes the place of the file's. Raises
    ScenarioError."""
    given = set[str]()
    for axis in words.axes:
        key, values = split_axis(axis) if isinstance(axis, str) else axis
        if key in given:
            raise ScenarioError(
                "an axis stands twice", file=AXIS_FILE, key=key, found=show(values),
                allowed=f"each key once, with all its values: {key}=VALUE,VALUE,...",
            )  # fmt: skip
        given.add(key)
        if not isinstance(data.get(section), dict):
            data[section] = {}
        data[section][key] = values
        for old in [old for old in places if old[:2] == (section, key)]:
            del places[old]
        places[section, key] = Place(AXIS_FILE)
    for key, value in words.given().items():
        if key == "plot":
            data[key] = {**(data[key] if isinstance(data.get(key), dict) else {}), **value}
            places |= {(key, name): Place(f"--{name}") for name in value}
            continue
        if key in ("protocols", "variants"):
            data.pop("variants" if key == "protocols" else "protocols", None)
        data[key] = [*_old_changes(data), *value] if key == "set" else value
        for old in [old for old in places if old[:1] == (key,)]:
            del places[old]
        places[key,] = Place(_WORDS[key])
        if key == "set":
            places |= {("set", len(data[key]) - 1 - index): Place(SET_FILE) for index in range(len(value))}


def _old_changes(data: dict[str, Any]) -> list[str]:
    given = data.get("set")
    return list(as_overrides(given)) if isinstance(given, dict) else []


def read_scenario_sweep(data: dict[str, Any], problems: Problems, source: str, folder: Path) -> ScenarioSweep | None:
    """None when there are problems; they are reported. `folder`: where files that the sweep names are looked
    for first."""
    return _Build(problems, data, folder).sweep(source)


class _Build:
    def __init__(self, problems: Problems, data: dict[str, Any], folder: Path) -> None:
        self.problems, self.data, self.folder = problems, data, folder

    def sweep(self, source: str) -> ScenarioSweep | None:
        problems, data = self.problems, self.data
        for key in data:
            if key not in SCENARIO_SWEEP_KEYS:
                problems.add(
                    (key,),
                    "unknown key",
                    allowed=", ".join(SCENARIO_SWEEP_KEYS),
                    hint=closest(key, SCENARIO_SWEEP_KEYS),
                )
        name, text = data.get("name"), data.get("description")
        if not isinstance(name, str) or not SWEEP_NAME.match(name):
            allowed = "a-z, 0-9 and - inside, at most 63 characters"
            problems.add(("name",), "not a name", found=show(name), allowed=allowed)
        if text is not None and not isinstance(text, str):
            problems.add(("description",), "not text", found=show(text), allowed="text")
        scenarios, variants, axes = self._scenarios(), self._variants(), self._axes()
        seeds, worlds = self._seeds(), self._worlds()
        figures, changes = self._figures(), self._changes()
        plot = read_plot(problems, data.get("plot"), self.folder)
        counts = [len(scenarios), len(variants), len(seeds), len(worlds), *(len(values) for _, values in axes)]
        total = math.prod(max(1, count) for count in counts)
        if total > MAX_POINTS:
            problems.add(
                ("axes",), "too many points", found=f"{total:,}", allowed=f"at most {MAX_POINTS:,} runs",
                hint="shorten an axis, or take fewer seeds",
            )  # fmt: skip
        elif total == 1 and not problems:
            problems.add(
                ("axes",), "nothing is varied", allowed="an axis, several scenarios, protocols, worlds or seeds",
                hint=f"`tb run {scenarios[0]}` runs it once",
            )  # fmt: skip
        if problems:
            return None
        return ScenarioSweep(
            str(name),
            text or "",
            scenarios,
            variants,
            axes,
            seeds,
            worlds,
            changes,
            figures or ("jct_s",),
            plot,
            self._names_code(changes),
            source,
        )

    def _names_code(self, changes: Sequence[str]) -> bool:
        places = self.problems.places
        by_axis = places.get(("axes", PROGRAM_KEY)) == Place(AXIS_FILE)
        return by_axis or any(
            change.partition("=")[0].strip() == PROGRAM_KEY and places.get(("set", index)) == Place(SET_FILE)
            for index, change in enumerate(changes)
        )

    def _words(self, key: str) -> tuple[str, ...]:
        given = self.data.get(key)
        if given is None:
            return ()
        words = given if isinstance(given, list) else [given]
        if not words or not all(isinstance(word, str) and word for word in words):
            self.problems.add((key,), "not a list of names", found=show(given), allowed="at least one, as [rack-lossy]")
            return ()
        for index, word in enumerate(words):
            if words.index(word) != index:
                self.problems.add((key, index), "named twice", found=show(word), allowed="each once")
        return tuple(words)

    def _figures(self) -> tuple[str, ...]:
        figures = self._words("figures")
        for index, name in enumerate(figures):
            unknown = unknown_figure(name)
            if unknown is not None:
                allowed, hint = unknown
                self.problems.add(
                    ("figures", index), "no run can have this figure", found=show(name), allowed=allowed, hint=hint
                )
        return figures

    def _scenarios(self) -> tuple[str, ...]:
        if self.data.get("scenarios") is None:
            self.problems.add(("scenarios",), "is missing", allowed="names of built-ins, or files")
            return ()
        found = []
        for index, name in enumerate(self._words("scenarios")):
            here = str(self.folder / name)
            # These take a name that is too long for a file as one that is not there.
            if name in builtin_names() or not (os.path.isfile(here) or os.path.exists(name)):
                if name not in builtin_names():
                    self.problems.add(
                        ("scenarios", index), "no such scenario", found=show(name),
                        allowed="a file (*.yaml), or a name from `tb list scenarios`",
                        hint=closest(name, builtin_names()),
                    )  # fmt: skip
                found.append(name)
            else:
                found.append(here if os.path.isfile(here) else name)
        return tuple(found)

    def _variants(self) -> tuple[Variant, ...]:
        problems, given = self.problems, self.data.get("variants")
        protocols = self._words("protocols")
        if protocols and given is not None:
            problems.add(
                ("variants",),
                "cannot be combined with protocols",
                allowed="one of both; a variant may name its protocol",
            )
        for index, name in enumerate(protocols):
            self._protocol(("protocols", index), name)
        if given is None:
            return tuple(Variant(name, name) for name in protocols)
        if not isinstance(given, dict) or not given:
            problems.add(
                ("variants",), "not a mapping", found=show(given), allowed="LABEL: {protocol: NAME, KEY: VALUE}"
            )
            return ()
        found = []
        for label, keys in given.items():
            if keys is not None and not isinstance(keys, dict):
                problems.add(("variants", label), "not a mapping", found=show(keys), allowed="keys of the scenario")
                continue
            changes = dict(keys or {})
            protocol = changes.pop("protocol", "")
            if protocol:
                self._protocol(("variants", label, "protocol"), protocol)
            found.append(Variant(str(label), protocol, tuple(changes.items())))
        return tuple(found)

    def _protocol(self, path: tuple[str | int, ...], name: Any) -> None:
        try:
            require_protocol(name, file="")
        except ScenarioError as error:
            self.problems.add(path, error.problem, found=error.found, allowed=error.allowed, hint=error.hint)

    def _axes(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        given = self.data.get("axes")
        if given is None:
            return ()
        if not isinstance(given, dict):
            self.problems.add(("axes",), "not a mapping", found=show(given), allowed="KEY: [VALUE, ...]")
            return ()
        read = {key: read_values(self.problems, ("axes", key), value) for key, value in given.items()}
        return tuple((str(key), values) for key, values in read.items() if values is not None)

    def _seeds(self) -> tuple[int, ...]:
        given = self.data.get("seeds")
        if given is None:
            return ()
        seeds = given if isinstance(given, list) else range(1, given + 1) if _is_count(given, MOST_VALUES) else []
        if not seeds or len(seeds) > MOST_VALUES or not all(_is_seed(seed) for seed in seeds):
            self.problems.add(
                ("seeds",), "not seeds", found=show(given),
                allowed=f"how many (1 to {MOST_VALUES:,}), or a list of whole numbers from 0 to 2^63-1",
            )  # fmt: skip
            return ()
        if len(set(seeds)) < len(seeds):
            self.problems.add(("seeds",), "a seed stands twice", found=show(given), allowed="each once")
        return tuple(seeds)

    def _worlds(self) -> tuple[str, ...]:
        worlds = self._words("worlds")
        for index, world in enumerate(worlds):
            if world not in world_names():
                self.problems.add(
                    ("worlds", index), "no such world", found=show(world), allowed=", ".join(world_names()),
                    hint=closest(world, world_names()),
                )  # fmt: skip
        return worlds

    def _changes(self) -> tuple[str, ...]:
        given = self.data.get("set")
        if isinstance(given, list):
            return tuple(map(str, given))
        if given is not None and not isinstance(given, dict):
            self.problems.add(("set",), "not a mapping", found=show(given), allowed="KEY: VALUE, as in `tb run --set`")
        return tuple(_old_changes(self.data))


def known_names(figures: Sequence[str]) -> tuple[str, ...]:
    """The figures of `--figures`. Raises ScenarioError for one that no run can have."""
    for figure in figures:
        unknown = unknown_figure(figure)
        if unknown is not None:
            raise ScenarioError(
                "no run can have this figure", file="--figures", found=show(figure), allowed=unknown[0], hint=unknown[1]
            )
    return tuple(dict.fromkeys(figures))


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
