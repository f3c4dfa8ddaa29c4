"""`tb sweep`: scenarios over their keys, protocols, worlds and seeds, or models over their parameters; in parallel,
resumable."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli.console import Console
from testbed.cli.parsing import INTERRUPTED
from testbed.cli.values import named_path, refused, seed, whole
from testbed.terminal.activity import State, doing
from testbed.terminal.folding import fold_lines
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns, complain, shown_path
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    from testbed.sweeps.model import Sweep
    from testbed.sweeps.scenario_engine import FinishedScenarios
    from testbed.sweeps.scenario_model import ScenarioSweep

__all__ = ["configure_sweep", "run_sweep"]


_PLOT_WORDS = {
    "kind": ("KIND", "plot: lines, bars, cdf or heatmap (default: lines along numbers, otherwise bars)"),
    "size": ("WxH", "plot: width and height, as 3.3x2.4in (default: a column, as high as the texts need)"),
    "style": ("STYLE", "plot: plain, ieee, acm, or a style sheet of matplotlib"),
    "scale": ("AXIS:SCALE", "plot: as x:log,y:linear (default: log where values are far apart)"),
    "format": ("F,F", "plot: pdf, svg, png, pgf (default: svg,pdf)"),
    "xlabel": ("TEXT", "plot: name of the horizontal axis"),
    "ylabel": ("TEXT", "plot: name of the vertical axis"),
    "title": ("TEXT", "plot: a title above it"),
    "legend": ("TEXT", "plot: title of the legend, or none for no legend"),
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
        "targets", metavar="TARGET", nargs="+",
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
    from testbed.sweeps.scenario_loader import SweepWords
    from testbed.sweeps.scenario_model import ScenarioSweep

    plot = {key: value for key in _PLOT_WORDS if (value := getattr(args, key)) is not None}
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
    interrupt_when_told_to_end()
    try:
        if isinstance(sweep, ScenarioSweep):
            return _sweep_scenarios(sweep, folder, args)
        return _sweep_models(sweep, folder, args)
    except KeyboardInterrupt:
        complain(f"tb: interrupted; the same command goes on where {shown_path(folder)} stands")
        return INTERRUPTED


def _sweep_scenarios(sweep: ScenarioSweep, folder: Path, args: argparse.Namespace) -> int:
    from testbed.sweeps.scenario_engine import run_scenario_sweep
    from testbed.sweeps.scenario_report import scenario_json, scenario_summary, write_scenario_files
    from testbed.sweeps.where import computing

    console = Console.of(args)
    progress = _Progress()
    with doing(progress.state):
        finished = run_scenario_sweep(sweep, folder, computing(args.jobs, args.scheduler), progress)
    with doing("writing the results"):
        written = [*write_scenario_files(finished, folder), *_pictures(finished, folder, args)]
    if console.verbosity >= 0:
        _print(console, scenario_summary(finished, columns(console.stream)))
        print(f"\nResults: {', '.join(shown_path(path) for path in written)}", file=console.stream)
    if args.json:
        print_document(scenario_json(finished))
    return finished.exit_code


def _pictures(finished: FinishedScenarios, folder: Path, args: argparse.Namespace) -> list[Path]:
    from testbed.sweeps.plots.write import write_plots
    from testbed.sweeps.matrix import matrix_page
    from workloads.trusted import write_file

    drawn = write_plots(finished, folder) if args.plot else []
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
    progress = _Progress()
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


class _Progress:
    """How many results are there, for the ticker."""

    def __init__(self) -> None:
        self._done, self._total = 0, 0

    def __call__(self, done: int, total: int, reused: int) -> None:
        self._done, self._total = done, total

    def state(self) -> State:
        if not self._total:
            return State("preparing")
        return State(f"{self._done:,} of {self._total:,} results", self._done / self._total)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise refused(text, "names with commas between them")
    return names


def _seeds(text: str) -> int | tuple[int, ...]:
    try:
        numbers = [seed(word.strip()) for word in text.split(",")]
    except argparse.ArgumentTypeError:
        raise refused(text, "how many, as 10, or seeds with commas between them, as 3,5,7") from None
    return numbers[0] if len(numbers) == 1 else tuple(numbers)
