"""Styles of plots: fonts and widths of columns, and the looks of series, which are distinct in grey and for
colour-blind readers."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.reading.problems import closest, show
from workloads.errors import HostCapabilityError, ScenarioError

__all__ = ["STYLES", "Look", "Style", "look_of", "read_style"]

_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D00")
"""after Okabe and Ito; the yellow of theirs cannot be seen on white"""
_MARKERS = "osD^vPX*"
_LINES = ("-", "--", "-.", ":")
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---")
_COMMON: Mapping[str, Any] = {
    "svg.fonttype": "path", "pdf.fonttype": 42, "ps.fonttype": 42, "svg.hashsalt": "ina-testbed", "axes.grid": True,
    "grid.color": "#dddddd", "grid.linewidth": 0.5, "axes.axisbelow": True, "axes.spines.top": False,
    "axes.spines.right": False, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "xtick.major.size": 2.5, "ytick.major.size": 2.5, "hatch.linewidth": 0.4, "axes.unicode_minus": False,
    "lines.linewidth": 1.0, "lines.markersize": 3.5, "savefig.dpi": 300, "text.parse_math": True,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Style:
    width_in: float
    """of one column"""
    height_in: float
    """of one chart without its legend"""
    rc: Mapping[str, Any]
    """settings of matplotlib"""
    colors: tuple[str, ...] = _COLORS
    """colours of series, in order"""


def _style(width_in: float, height_in: float, font_pt: float, **more: Any) -> Style:
    small = font_pt - 1
    sizes = {"font.size": font_pt, "axes.labelsize": font_pt, "axes.titlesize": font_pt, "figure.titlesize": font_pt}
    sizes |= {"xtick.labelsize": small, "ytick.labelsize": small, "legend.fontsize": small}
    sizes |= {"legend.title_fontsize": small}
    return Style(width_in, height_in, {**_COMMON, **sizes, **more})


_TIMES = {"font.family": "STIXGeneral", "mathtext.fontset": "stix"}
"""a Times that matplotlib brings along"""
STYLES: Mapping[str, Style] = {
    "plain": _style(4.5, 2.8, 9.0),
    "ieee": _style(3.5, 2.0, 8.0, **_TIMES),
    "acm": _style(3.33, 2.0, 8.0, **_TIMES),
}


@dataclass(frozen=True, slots=True)
class Look:
    """How one series is drawn."""

    color: str
    marker: str
    linestyle: str
    hatch: str


def look_of(number: int, colors: tuple[str, ...]) -> Look:
    """Two of the first 32 differ."""
    again = number // len(_MARKERS)
    return Look(
        colors[number % len(colors)], _MARKERS[number % len(_MARKERS)], _LINES[(number + again) % len(_LINES)],
        _HATCHES[(number + again) % len(_HATCHES)],
    )  # fmt: skip


def read_style(name: str) -> Style:
    """`plain`, `ieee`, `acm`, or a style sheet of matplotlib. Raises ScenarioError, and HostCapabilityError where it
    needs LaTeX and there is none."""
    if name in STYLES:
        return STYLES[name]
    import matplotlib as mpl
    from matplotlib.colors import to_hex

    path, allowed = Path(name), f"{', '.join(STYLES)}, or a style sheet of matplotlib (*.mplstyle)"
    if not path.is_file():
        raise ScenarioError("no such style", file="plot.style", found=show(name), allowed=allowed,
                            hint=closest(name, STYLES))  # fmt: skip
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            key = line.partition("#")[0].partition(":")[0].strip()
            if key and key not in mpl.rcParams:
                raise ScenarioError("a style sheet with an unknown setting", file="plot.style", found=show(key),
                                    allowed="settings of matplotlib", hint=closest(key, mpl.rcParams))  # fmt: skip
        found = dict(mpl.rc_params_from_file(path, fail_on_error=True, use_default_template=False))
    except (OSError, ValueError, KeyError) as error:
        problem = f"a style sheet that matplotlib cannot read: {str(error).splitlines()[0] if str(error) else error}"
        raise ScenarioError(problem, file="plot.style", found=show(name), allowed=allowed) from error
    if found.get("text.usetex") and shutil.which("latex") is None:
        raise HostCapabilityError(f"LaTeX, which {name} asks for (text.usetex)", "to have it: apt-get install texlive")
    width, height = found.get("figure.figsize", (STYLES["plain"].width_in, STYLES["plain"].height_in))
    cycle = found.pop("axes.prop_cycle", None)
    colors = tuple(map(to_hex, cycle.by_key().get("color", ()))) if cycle is not None else ()
    return Style(float(width), float(height), {**STYLES["plain"].rc, **found}, colors or _COLORS)
