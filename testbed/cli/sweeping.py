"""`tb sweep`: scenarios over their keys, protocols, worlds and seeds, or models over their parameters; in parallel,
resumable."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli.console import Console
from testbed.cli.parsing import INTERRUPTED
from testbed.cli.progress import CliProgress
from testbed.cli.values import named_path, refused, seed, whole
from testbed.terminal.activity import doing
from testbed.terminal.folding import fold_lines
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns, complain, shown_path
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    from testbed.sweeps.model import Sweep
    from testbed.sweeps.plots.options import PlotOptions
    from testbed.sweeps.scenario_engine import FinishedScenarios
    from testbed.sweeps.scenario_model import Point, ScenarioSweep

__all__ = ["configure_sweep", "run_sweep"]


_OF_RUNS = (
    "targets", "axes", "seeds", "protocols", "worlds", "overrides", "model", "jobs", "scheduler", "out", "until",
    "most_seeds", "parquet",
)  # fmt: skip
"""options that say what is run"""
_PLOT_WORDS = {
    "kind": ("KIND", "plot: lines, bars, cdf or heatmap (default: lines along numbers, otherwise bars)"),
    "size": ("WxH", "plot: width and height, as 3.3x2.4in (default: a column, as high as the texts need)"),
    "style": ("STYLE", "plot: plain, ieee, acm, or a style sheet of matplotlib"),
    "scale": ("AXIS:SCALE", "plot: as x:log,y:linear (default: log where values are far apart)"),
    "format": ("F,F", "plot: pdf, svg, png, pgf (default: svg,pdf)"),
    "xlabel": ("TEXT", "plot: name of the horizontal axis"),
    "ylabel": ("TEXT", "plot: name of the vertical axis"),
    "title": ("TEXT", "plot: a title above it"),
    "legend": ("TEXT", "plot: title of the legend, or none to omit the series from it"),
}
"""options of a plot, by key of `plot` in a sweep file; each of them also draws"""


def configure_sweep(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb sweep rack-lossy --axis faults.loss.rate=0,0.1%,1%,5% --seeds 10 --world simulated --plot
  ./tb sweep rack-lossy --axis faults.loss.rate=0,1% --protocols netreduce,switchml,atp,esa --seeds 5
  ./tb sweep rack rack-lossy psn-wrap --protocols netreduce,atp --world simulated --matrix
  ./tb sweep jct-against-loss --plot
  ./tb sweep netreduce-scale --plot
  ./tb sweep netreduce-scale --axis gpus=32,64 --model message --json
"""
    parser.add_argument(
        "targets", metavar="TARGET", nargs="*",
        help="scenarios (names or files), or one sweep (`tb list sweeps`, or a YAML file)",
    )  # fmt: skip
    parser.add_argument(
        "--axis", dest="axes", action="append", default=[], metavar="KEY=VALUES",
        help="vary this key of the scenario, or this parameter of the models: 0,1%%,5%% or {from: 1%%, to: 8%%, "
             "factor: 2}; may be repeated",
    )  # fmt: skip
    parser.add_argument("--seeds", type=_seeds, metavar="N", help="seeds 1 to N at each point, or these: 3,5,7")
    parser.add_argument(
        "--protocols", type=_names, default=[], metavar="P,P", help="each of them, as netreduce,switchml,atp"
    )
    parser.add_argument(
        "--world", dest="worlds", type=_names, default=[], metavar="W,W", help="worlds (default: each scenario's)"
    )
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="as in `tb run`, for all points",
    )
    parser.add_argument(
        "--figures",
        type=_names,
        default=[],
        metavar="F,F",
        help="shown and drawn, as jct_s,goodput_bps,lost.data (default: jct_s)",
    )
    parser.add_argument(
        "--model", help="of a sweep of models: formula, flow, message or packet (default: as the file says)"
    )
    parser.add_argument("--jobs", type=whole(1, 1024), metavar="J", help="processes (default: one per processor)")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask scheduler, whose workers compute (needs the extra `dask`)"
    )
    parser.add_argument(
        "--out", metavar="DIR", type=named_path, help="where results are kept (default: runs/sweeps/NAME)"
    )
    parser.add_argument(
        "--until", type=_share, metavar="SHARE",
        help="add seeds until half of each interval is below this share of the median, as 5%%",
    )  # fmt: skip
    parser.add_argument(
        "--most-seeds", type=whole(1, 10_000), metavar="N", help="with --until: seeds of a point, at most (default: 30)"
    )
    parser.add_argument(
        "--show", metavar="DIR", help="print, and plot, what is there of a sweep, by its folder or its name; it may run"
    )
    parser.add_argument("--parquet", action="store_true", help="also write results.parquet (needs the extra `parquet`)")
    parser.add_argument("--plot", action="store_true", help="also draw: plot-FIGURE.svg and .pdf; plot.svg of models")
    for key, (metavar, text) in _PLOT_WORDS.items():
        parser.add_argument(f"--{key}", metavar=metavar, help=text)
    parser.add_argument(
        "--matrix", action="store_true", help="also write matrix.html: protocols across, scenarios down"
    )
    parser.add_argument("--json", action="store_true", help="print results.json alone on stdout; all else on stderr")


def run_sweep(args: argparse.Namespace) -> int:
    from testbed.kernel.interruption import interrupt_when_told_to_end
    from testbed.sweeps import load_sweep
    from testbed.sweeps.parquet import require_parquet
    from testbed.sweeps.scenario_loader import SweepWords
    from testbed.sweeps.scenario_model import ScenarioSweep

    plot = {key: value for key in _PLOT_WORDS if (value := getattr(args, key)) is not None}
    if args.show is not None:
        return _show_sweep(args, plot)
    if not args.targets:
        raise ScenarioError("no TARGET", file="tb sweep", allowed="scenarios, one sweep, or --show DIR")
    words = SweepWords(args.axes, args.protocols, args.seeds, args.worlds, args.overrides, args.figures, plot=plot)
    args.plot = args.plot or bool(plot)
    sweep = load_sweep(args.targets, words, args.model)
    folder = args.out or Path("runs") / "sweeps" / sweep.name
    if args.matrix and not isinstance(sweep, ScenarioSweep):
        raise ScenarioError(
            "means nothing for a sweep of models", file="tb sweep", key="--matrix", allowed="with scenarios"
        )
    if os.path.lexists(folder) and not folder.is_dir():
        raise ScenarioError("is no folder", file="tb sweep", key="--out", found=str(folder), allowed="a folder")
    if args.most_seeds is not None and args.until is None:
        raise ScenarioError("means nothing alone", file="tb sweep", key="--most-seeds", allowed="with --until")
    for key in ("until", "parquet"):
        if getattr(args, key) and not isinstance(sweep, ScenarioSweep):
            raise ScenarioError(
                "means nothing for a sweep of models", file="tb sweep", key=f"--{key}", allowed="with scenarios"
            )
    if args.parquet:
        require_parquet()
    interrupt_when_told_to_end()
    try:
        if isinstance(sweep, ScenarioSweep):
            return _sweep_scenarios(sweep, folder, args)
        return _sweep_models(sweep, folder, args)
    except KeyboardInterrupt:
        complain(f"tb: interrupted; the same command goes on where {shown_path(folder)} stands")
        return INTERRUPTED


def _sweep_scenarios(sweep: ScenarioSweep, folder: Path, args: argparse.Namespace) -> int:
    from testbed.sweeps.forecast import Forecast
    from testbed.sweeps.parquet import write_parquet
    from testbed.sweeps.scenario_engine import run_scenario_sweep
    from testbed.sweeps.scenario_report import scenario_json, scenario_rows, scenario_summary, write_scenario_files
    from testbed.sweeps.until import MOST_SEEDS, Until, run_until, until_lines
    from testbed.sweeps.where import computing
    from testbed.terminal.ticker import speak

    console = Console.of(args)
    jobs = None if args.scheduler else args.jobs or os.cpu_count()
    forecast = Forecast(jobs, speak if console.verbosity >= 0 else lambda line: None, time.monotonic)
    progress = CliProgress(forecast)
    until = None if args.until is None else Until(args.until, args.most_seeds or MOST_SEEDS)

    def run(sweep: ScenarioSweep, takes: Callable[[Point], bool] = lambda point: True) -> FinishedScenarios:
        return run_scenario_sweep(sweep, folder, computing(args.jobs, args.scheduler), progress, forecast, takes)

    with doing(progress.state):
        finished = run(sweep) if until is None else run_until(sweep, until, run)
    with doing("writing the results"):
        written = list(write_scenario_files(finished, folder))
        if args.parquet:
            write_parquet(folder / "results.parquet", scenario_rows(finished))
            written.append(folder / "results.parquet")
    if console.verbosity >= 0:
        _print(console, scenario_summary(finished, columns(console.stream)))
        _print(console, () if until is None else until_lines(finished, until))
    with doing("drawing"):
        written += _pictures(finished, folder, args, finished.sweep.plot)
    if console.verbosity >= 0:
        print(f"\nResults: {', '.join(shown_path(path) for path in written)}", file=console.stream)
    if args.json:
        print_document(scenario_json(finished))
    return finished.exit_code


def _show_sweep(args: argparse.Namespace, plot: dict[str, str]) -> int:
    """Nothing is run; results.csv is left to the sweep, which may be at work."""
    from testbed.sweeps.plots.options import changed_plot
    from testbed.sweeps.scenario_loader import known_names
    from testbed.sweeps.scenario_report import scenario_json, scenario_summary, write_summary
    from testbed.sweeps.showing import read_sweep

    given = [key for key in _OF_RUNS if getattr(args, key) not in (None, [], False)]
    if given:
        name = {"targets": "TARGET", "worlds": "--world", "axes": "--axis", "overrides": "--set"}
        raise ScenarioError(
            "means nothing with --show", file="tb sweep", key=name.get(given[0], f"--{given[0]}".replace("_", "-")),
            allowed="--figures, --plot and its options, --matrix, --json",
        )  # fmt: skip
    near = Path("runs") / "sweeps" / args.show
    folder = near if not Path(args.show).is_dir() and near.is_dir() else Path(args.show)
    finished = read_sweep(folder)
    if args.figures:
        finished = replace(finished, sweep=replace(finished.sweep, figures=known_names(args.figures)))
    options = changed_plot(finished.sweep.plot, plot)
    console = Console.of(args)
    if console.verbosity >= 0:
        _print(console, scenario_summary(finished, columns(console.stream)))
    args.plot = args.plot or bool(plot)
    written = [write_summary(finished, folder)] if args.plot else []
    with doing("drawing"):
        written += _pictures(finished, folder, args, options)
    if written and console.verbosity >= 0:
        print(f"\nResults: {', '.join(shown_path(path) for path in written)}", file=console.stream)
    if args.json:
        print_document(scenario_json(finished))
    return 0


def _pictures(finished: FinishedScenarios, folder: Path, args: argparse.Namespace, options: PlotOptions) -> list[Path]:
    from testbed.sweeps.matrix import matrix_page
    from testbed.sweeps.plots.write import write_plots
    from workloads.trusted import write_file

    drawn = write_plots(finished, folder, options) if args.plot else []
    names = {path.name for path in drawn}
    for figure in finished.sweep.figures if args.plot else ():
        if not any(name.startswith(f"plot-{figure}.") for name in names):
            complain(f"tb sweep: no plot of {figure}: no run has a valid one")
    if args.matrix:
        write_file(folder / "matrix.html", matrix_page(finished))
        drawn.append(folder / "matrix.html")
    return drawn


def _sweep_models(sweep: Sweep, folder: Path, args: argparse.Namespace) -> int:
    from testbed.sweeps import engine
    from testbed.sweeps.plot import write_svg
    from testbed.sweeps.report import summary, to_json, write_files
    from testbed.sweeps.where import computing_models

    console = Console.of(args)
    progress = CliProgress()
    jobs = args.jobs or os.cpu_count() or 1
    with doing(progress.state):
        finished = engine.run_sweep(sweep, folder, jobs, progress, computing_models(args.scheduler))
    as_json, as_csv = write_files(finished, folder)
    if console.verbosity >= 0:
        _print(console, summary(finished, columns(console.stream)))
        print(f"\nResults: {as_json}, {as_csv}", file=console.stream)
    if args.plot:
        drawn = write_svg(finished, folder / "plot.svg")
        if console.verbosity >= 0:
            print(f"Plot: {folder / 'plot.svg'} ({drawn} charts)", file=console.stream)
    if args.json:
        print_document(to_json(finished))
    return 0


def _print(console: Console, lines: Iterable[str]) -> None:
    for line in fold_lines(lines, columns(console.stream)):
        print(line, file=console.stream)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise refused(text, "names with commas between them")
    return names


def _share(text: str) -> float:
    from testbed.reading.units import UnitError, parse_probability

    try:
        share = parse_probability(text)
    except UnitError:
        share = 0.0
    if not 0 < share < 1:
        raise refused(text, "a share above 0% and below 100%, as 5%")
    return float(share)


def _seeds(text: str) -> int | tuple[int, ...]:
    try:
        numbers = [seed(word.strip()) for word in text.split(",")]
    except argparse.ArgumentTypeError:
        raise refused(text, "how many, as 10, or seeds with commas between them, as 3,5,7") from None
    return numbers[0] if len(numbers) == 1 else tuple(numbers)
