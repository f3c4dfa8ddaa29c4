"""The script that comes with a plot draws the same, from the CSV files alone."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from testbed.sweeps.plots.build import pictures_of
from testbed.sweeps.plots.fit import fitted
from testbed.sweeps.plots.options import PlotOptions
from testbed.sweeps.plots.styles import read_style
from testbed.sweeps.plots.write import write_plots
from testbed.sweeps.scenario_report import write_scenario_files
from tests.support.sweeps import is_data, made_up
from tests.testbed.sweeps.plots.test_pictures import PROTOCOLS, RATES, sick


def shown(area: Any) -> set[Any]:
    """Data of lines, heights of bars, cells: what a reader would read off."""
    found: set[Any] = set()
    for line in area.lines if not area.collections or area.collections[0].get_array() is None else ():
        if is_data(line) and line.get_marker() not in ("_", "|"):
            points = zip(np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float), strict=True)
            found |= {(round(x, 6), round(y, 6)) for x, y in points if np.isfinite(y)}
    found |= {round(bar.get_height(), 6) for bar in area.patches}
    for mesh in area.collections:
        cells = mesh.get_array()
        found |= set() if cells is None else {round(float(cell), 6) for cell in np.ma.compressed(cells)}
    return found


@pytest.mark.parametrize("kind", ["lines", "bars", "cdf", "heatmap"])
def test_the_script_draws_the_same(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = made_up(sick, variants=PROTOCOLS, axes={"faults.loss.rate": RATES})
    options = PlotOptions(kind=kind, style="ieee", formats=("svg",))
    write_scenario_files(finished, tmp_path)
    script = write_plots(finished, tmp_path, options)[-1]
    assert script.name == "plot-jct_s.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) < 50
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path / "again.png")])
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with mpl.rc_context({"backend": "Agg"}):
        names = runpy.run_path(str(script))
    assert (tmp_path / "again.png").read_bytes().startswith(b"\x89PNG")
    with mpl.rc_context(dict(read_style("ieee").rc)):
        figure, _ = fitted(pictures_of(finished, "jct_s", options)[0], read_style("ieee"))
    theirs = [shown(area) for area in names["figure"].axes]
    for number, area in enumerate(figure.axes[: len(names["CHARTS"])]):
        wanted = shown(area)
        assert wanted
        assert wanted <= theirs[number] | {(0.0, 0.0)}, wanted - theirs[number]
        if kind == "lines":
            breaks = [[np.round(line.get_xdata(), 6).tolist() for line in each.lines if line.get_color() == "black"]
                      for each in (area, names["figure"].axes[number])]  # fmt: skip
            assert breaks[0] == breaks[1] != []
        assert area.get_xlabel() in ("", names["figure"].axes[number].get_xlabel()), "small multiples have one name"
