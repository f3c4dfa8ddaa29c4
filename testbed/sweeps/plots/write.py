"""Plots of a sweep as files, each with the script that draws it again."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from testbed.sweeps.plots.build import pictures_of
from testbed.sweeps.plots.fit import fitted
from testbed.sweeps.plots.options import PlotOptions, latex
from testbed.sweeps.plots.script import script_of
from testbed.sweeps.plots.styles import read_style
from testbed.sweeps.scenario_engine import FinishedScenarios
from workloads.trusted import write_file

__all__ = ["write_plots"]

_NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def write_plots(finished: FinishedScenarios, folder: Path, options: PlotOptions | None = None) -> list[Path]:
    """`plot-FIGURE.svg` and others for each figure of the sweep that some run reported, and `plot-FIGURE.py`.
    `options`: in place of those of the sweep. Raises ScenarioError where the texts do not fit, and HostCapabilityError
    where a format needs a program."""
    import matplotlib as mpl

    options, written = options or finished.sweep.plot, list[Path]()
    style = read_style(options.style)
    more = {"pgf.texsystem": latex()} if "pgf" in options.formats else {}
    with mpl.rc_context({**style.rc, **more}):
        for name in finished.sweep.figures:
            for page, picture in enumerate(pictures_of(finished, name, options)):
                stem = f"plot-{name}" + (f"-{page + 1}" if page else "")
                figure, shown = fitted(picture, style)
                for suffix in options.formats:
                    data = io.StringIO() if suffix == "pgf" else io.BytesIO()
                    figure.savefig(data, format=suffix, metadata=_NO_DATE.get(suffix))
                    write_file(folder / f"{stem}.{suffix}", data.getvalue())
                    written.append(folder / f"{stem}.{suffix}")
                write_file(folder / f"{stem}.py", script_of(shown, stem, style))
                written.append(folder / f"{stem}.py")
    return written
