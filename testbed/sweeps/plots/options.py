"""How a plot shall look: words of a command line, or the keys of `plot` in a sweep file."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed.reading.problems import Place, Problems, closest, show
from testbed.sweeps.plots.styles import STYLES, read_style
from workloads.errors import HostCapabilityError, ScenarioError

__all__ = ["FORMATS", "KINDS", "PLOT_KEYS", "PlotOptions", "changed_plot", "latex", "read_plot"]

KINDS = ("lines", "bars", "cdf", "heatmap")
FORMATS = ("pdf", "svg", "png", "pgf")
PLOT_KEYS = ("xlabel", "ylabel", "title", "legend", "size", "scale", "style", "format", "kind")
_FIELDS = {"size": "size_in", "format": "formats"}
_TEX = ("xelatex", "lualatex", "pdflatex")
_FORMATS = ("svg", "pdf")
_SCALES = ("linear", "log")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)x([0-9]+(?:\.[0-9]+)?)(in|cm|mm)\Z", re.ASCII)
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_SMALLEST_IN, _LARGEST_IN = 1.0, 40.0
_LONGEST_TEXT = 200
_SIZE_ALLOWED = f"WIDTHxHEIGHT with in, cm or mm, each {_SMALLEST_IN:g}in to {_LARGEST_IN:g}in, as 3.3x2.4in"


@dataclass(frozen=True, slots=True)
class PlotOptions:
    xlabel: str | None = None
    """None: the name of the key"""
    ylabel: str | None = None
    """None: the name of the figure"""
    title: str = ""
    legend: str | None = None
    """title of the legend; None: the key that is varied, `none`: no legend"""
    size_in: tuple[float, float] | None = None
    """width and height; None: the column of the style, and as high as the texts need"""
    scale: tuple[tuple[str, str], ...] = ()
    """(x or y, linear or log); an axis that is not named is logarithmic if its values are far apart"""
    style: str = "plain"
    formats: tuple[str, ...] = _FORMATS
    kind: str | None = None
    """None: lines along an axis of numbers, otherwise bars"""


def read_plot(problems: Problems, given: Any, folder: Path = Path()) -> PlotOptions:
    """Problems are reported. `folder`: where a style file is looked for first. Raises HostCapabilityError where a
    format needs a program that this machine lacks."""
    if given is None:
        return PlotOptions()
    if not isinstance(given, Mapping):
        problems.add(("plot",), "not a mapping", found=show(given), allowed=f"keys: {', '.join(PLOT_KEYS)}")
        return PlotOptions()
    for key in given:
        if key not in PLOT_KEYS:
            allowed = ", ".join(PLOT_KEYS)
            problems.add(("plot", key), "unknown key", allowed=allowed, hint=closest(key, PLOT_KEYS))
    kind = given.get("kind")
    if kind is not None and kind not in KINDS:
        allowed = ", ".join(KINDS)
        problems.add(("plot", "kind"), "no such kind", found=show(kind), allowed=allowed, hint=closest(kind, KINDS))
    texts = {key: _text(problems, key, given.get(key)) for key in ("xlabel", "ylabel", "title", "legend")}
    return PlotOptions(
        texts["xlabel"], texts["ylabel"], texts["title"] or "", texts["legend"], _size(problems, given.get("size")),
        _scale(problems, given.get("scale")), _style(problems, given.get("style"), folder),
        _formats(problems, given.get("format")), kind,
    )  # fmt: skip


def changed_plot(options: PlotOptions, words: Mapping[str, str]) -> PlotOptions:
    """With the options of a command line in place of those that a sweep was run with. Raises ScenarioError."""
    problems = Problems("tb sweep", {("plot", key): Place(f"--{key}") for key in words})
    given = read_plot(problems, words)
    problems.raise_if_any()
    fields = {_FIELDS.get(key, key) for key in words}
    return replace(options, **{name: getattr(given, name) for name in fields})


def _text(problems: Problems, key: str, value: Any) -> str | None:
    if value is None:
        return None
    allowed = f"one line of text, at most {_LONGEST_TEXT} characters"
    text = str(value)
    if isinstance(value, dict | list | bool) or len(text) > _LONGEST_TEXT or not (text == "" or text.isprintable()):
        problems.add(("plot", key), "not a line of text", found=show(value), allowed=allowed)
        return None
    wrong = _formula_problem(text)
    if wrong:
        problems.add(("plot", key), f"a formula that matplotlib cannot read: {wrong}", found=show(value),
                     allowed="TeX between two $, or \\$ for a dollar sign")  # fmt: skip
        return None
    return text


def _formula_problem(text: str) -> str:
    """Empty: none."""
    if "$" not in text:
        return ""
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(text)
    except ValueError as error:
        return str(error).strip().splitlines()[-1]
    return ""


def _size(problems: Problems, value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    found = _SIZE.match(str(value).replace(" ", ""))
    inches = [float(found[number]) * _INCHES[found[3]] for number in (1, 2)] if found else []
    if not inches or not all(math.isfinite(each) and _SMALLEST_IN <= each <= _LARGEST_IN for each in inches):
        problems.add(("plot", "size"), "not a size", found=show(value), allowed=_SIZE_ALLOWED)
        return None
    return inches[0], inches[1]


def _scale(problems: Problems, value: Any) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    words = (
        [f"{axis}:{scale}" for axis, scale in value.items()] if isinstance(value, Mapping) else str(value).split(",")
    )
    found: dict[str, str] = {}
    for word in words:
        axis, _, scale = word.strip().partition(":")
        if axis not in ("x", "y") or scale not in _SCALES or axis in found:
            allowed = "x:log, y:log, x:linear or y:linear, each axis once, with a comma between them"
            problems.add(("plot", "scale"), "not a scale", found=show(word.strip()), allowed=allowed)
            return ()
        found[axis] = scale
    return tuple(found.items())


def _style(problems: Problems, value: Any, folder: Path) -> str:
    if value is None or value in STYLES:
        return str(value or "plain")
    near = folder / str(value)
    path = near if near.is_file() else Path(str(value))
    try:
        read_style(str(path))
    except ScenarioError as error:
        problems.add(("plot", "style"), error.problem, found=error.found, allowed=error.allowed, hint=error.hint)
    return str(path)


def _formats(problems: Problems, value: Any) -> tuple[str, ...]:
    if value is None:
        return _FORMATS
    words = [str(word).strip() for word in (value if isinstance(value, list) else str(value).split(","))]
    for word in words or [""]:
        if word not in FORMATS or words.count(word) > 1:
            problems.add(
                ("plot", "format"), "not a format" if word not in FORMATS else "a format stands twice",
                found=show(word), allowed=f"{', '.join(FORMATS)}, each once", hint=closest(word, FORMATS),
            )  # fmt: skip
            return _FORMATS
    if "pgf" in words:
        latex()
    return tuple(words)


def latex() -> str:
    """The program that measures texts for pgf. Raises HostCapabilityError where there is none."""
    found = next((name for name in _TEX if shutil.which(name)), None)
    if found is None:
        raise HostCapabilityError(
            f"LaTeX ({', '.join(_TEX)}), which measures the texts of a plot in the format pgf",
            "to have it: apt-get install texlive-xetex; the formats pdf, svg and png need no LaTeX",
        )
    return found
