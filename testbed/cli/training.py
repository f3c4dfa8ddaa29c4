"""`tb train`: training processes over the network of a scenario; `tb up` and `tb down`: the network alone, for ranks that come by
themselves."""

from __future__ import annotations

import argparse
import sys

from testbed.cli.console import Console
from workloads.errors import ScenarioError

__all__ = ["configure_train", "run_train"]


def configure_train(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb train rack-lossy --world simulated -- python playbooks/training/mlp.py
  ./tb train switchml --world simulated --set topology.hosts=8 -- playbooks/training/mlp.py --steps 50
"""
    _add_options(parser)
    parser.usage = "%(prog)s [options] SCENARIO -- COMMAND ..."
    parser.description = "COMMAND is what each rank runs; a file that ends in .py runs with the Python of tb."
    parser.set_defaults(rank_command=[])


def _add_options(parser: argparse.ArgumentParser) -> None:
    from testbed.cli.running import _add_output_options, _seed

    parser.add_argument("scenario", metavar="SCENARIO", help="a built-in's name (`tb list scenarios`) or a YAML file")
    parser.add_argument("--world", help="simulated or emulated (default: as the scenario says)")
    parser.add_argument("--seed", type=_seed, metavar="N", help="decides PSNs and which packets are struck")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE",
        help="change one key, as topology.hosts=8; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--piece", type=_size, metavar="SIZE",
        help="what the network sums at once, as 1MB (default: the first all-reduce, at most 4MB)",
    )  # fmt: skip
    parser.add_argument(
        "--memory", type=_size, default=256 << 20, metavar="SIZE",
        help="of each rank, for gradients on their way (default: 256 MiB)",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="TIME",
        help="that a rank waits for another, or for the network (default: 60s)",
    )  # fmt: skip
    _add_output_options(parser)


def run_train(args: argparse.Namespace) -> int:
    from testbed.cli.running import _show, require_root
    from testbed.runs.run import run_scenario
    from testbed.train.planning import TrainingSource
    from testbed.train.voice import PrintedVoice
    from testbed.train.world import TrainingOptions, create_training

    command = list(args.rank_command)
    if not command:
        raise ScenarioError(
            "says not what the ranks run",
            file="tb train",
            key="COMMAND",
            allowed="as: tb train rack -- python train.py",
        )
    if command[0].endswith(".py"):
        command = [sys.executable, *command]
    source = TrainingSource(args.scenario, tuple(args.overrides), args.seed, args.world, args.pcap)
    scenario = source.load()
    options = TrainingOptions(
        source, tuple(command), piece_bytes=args.piece, memory_bytes=args.memory, timeout_s=args.timeout
    )
    console = Console.of(args)
    voice = PrintedVoice(console.stream, quiet=console.verbosity < 0)
    world = create_training(scenario.world, options, voice)
    if scenario.world == "emulated":
        require_root(f"train {args.scenario}", simulated_helps=True)
    result = run_scenario(scenario, args.out, args.pcap, world=world)
    _show(result, console, args.json)
    return result.exit_code


def _size(text: str) -> int:
    from testbed.reading.units import UnitError, parse_size

    try:
        return parse_size(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(f"found {text!r}; {error}") from None


def _seconds(text: str) -> float:
    from testbed.reading.units import UnitError, parse_duration

    try:
        return parse_duration(text) / 1e9
    except UnitError as error:
        raise argparse.ArgumentTypeError(f"found {text!r}; {error}") from None
