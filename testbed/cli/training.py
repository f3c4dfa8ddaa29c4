"""`tb train`: training processes over the network of a scenario; `tb up` and `tb down`: the network alone, for ranks
that come by themselves."""

from __future__ import annotations

import argparse
from pathlib import Path

from testbed.cli.console import Console
from testbed.cli.parsing import Parser
from testbed.cli.values import duration, named_path, seed, size

__all__ = ["configure_down", "configure_train", "configure_up", "run_down", "run_train", "run_up"]

_LEAST_MEMORY_BYTES = 4096
_DOWN_S = 120.0
"""seconds that a network may take to go"""


def configure_train(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb train rack-lossy --world simulated -- playbooks/training/mlp.py
  ./tb train switchml --world simulated --set topology.hosts=8 -- playbooks/training/mlp.py --steps 50
"""
    _add_options(parser)
    parser.add_argument(
        "--record", metavar="DIR", type=named_path,
        help="also write what the training asked of the network to this folder, as a Chakra trace (docs/traces.md)",
    )  # fmt: skip
    parser.add_argument(
        "--flight-recorder", metavar="DIR", type=named_path,
        help="also write there, at the end, what each rank posted (a training that fails writes it to its run)",
    )  # fmt: skip
    parser.usage = "%(prog)s [options] SCENARIO -- COMMAND ..."
    parser.description = "COMMAND is what each rank runs; a file that ends in .py runs with the Python of tb."
    parser.set_defaults(rank_command=[])
    if isinstance(parser, Parser):
        parser.surplus = "what each rank runs stands behind --, as `tb train SCENARIO -- script.py`"


def _add_options(parser: argparse.ArgumentParser) -> None:
    from testbed.cli.running import _add_output_options

    parser.add_argument("scenario", metavar="SCENARIO", help="a built-in's name (`tb list scenarios`) or a YAML file")
    parser.add_argument("--world", help="simulated or emulated (default: as the scenario says)")
    parser.add_argument("--seed", type=seed, metavar="N", help="decides PSNs and which packets the faults hit")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE",
        help="change one key, as topology.hosts=8; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--piece", type=size(4, 1 << 32), metavar="SIZE",
        help="what the network sums at once, at most (default: 4MB; hierarchical, dlcp: the first all-reduce)",
    )  # fmt: skip
    parser.add_argument(
        "--memory", type=size(_LEAST_MEMORY_BYTES, 1 << 40), default=256 << 20, metavar="SIZE",
        help="of each rank, for gradients on their way (default: 256 MiB)",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=duration(least_ns=1), default=60 * 10**9, metavar="TIME",
        help="that a rank waits for another, or for the network (default: 60s)",
    )  # fmt: skip
    _add_output_options(parser)


def run_train(args: argparse.Namespace) -> int:
    from testbed.train.command import checked_command
    from testbed.train.recorder import require_empty
    from workloads.traces.chakra_writing import require_protobuf

    if args.record is not None:
        require_protobuf()
        require_empty(Path(args.record), "--record")
    if args.flight_recorder is not None:
        require_empty(Path(args.flight_recorder), "--flight-recorder")
    return _train(args, "train", checked_command(args.rank_command), None)


def configure_up(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb up rack-lossy --world simulated          then, in another terminal: torchrun --nproc-per-node 4 train.py
  sudo ./tb up switchml --set topology.hosts=8
"""
    _add_options(parser)
    _add_place(parser)


def run_up(args: argparse.Namespace) -> int:
    return _train(args, "up", [], _place(args))


def configure_down(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb down                                   end the network of `tb up`, which then prints its verdict
"""
    _add_place(parser)


def run_down(args: argparse.Namespace) -> int:
    from testbed.train.place import end_network

    end_network(_place(args), _DOWN_S)
    return 0


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--place",
        metavar="DIR",
        type=named_path,
        help="folder of the network's socket (default: /tmp/ina-UID, where ranks look)",
    )


def _place(args: argparse.Namespace) -> Path:
    from testbed.train.place import default_place

    return default_place() if args.place is None else Path(args.place).absolute()


def _folder(args: argparse.Namespace, name: str) -> Path | None:
    """Of an option that `tb up` does not have."""
    found = getattr(args, name, None)
    return None if found is None else Path(found)


def _train(args: argparse.Namespace, verb: str, command: list[str], place: Path | None) -> int:
    from testbed.cli.running import _show, require_root
    from testbed.kernel.interruption import interrupt_when_told_to_end
    from testbed.runs.run import run_scenario
    from testbed.train.planning import TrainingSource
    from testbed.train.voice import PrintedVoice
    from testbed.train.world import TrainingOptions, create_training

    source = TrainingSource(args.scenario, tuple(args.overrides), args.seed, args.world, args.pcap)
    scenario = source.load()
    options = TrainingOptions(
        source,
        tuple(command),
        place,
        piece_bytes=args.piece,
        memory_bytes=args.memory - args.memory % _LEAST_MEMORY_BYTES,
        timeout_s=args.timeout / 1e9,
        record=_folder(args, "record"),
        flight=_folder(args, "flight_recorder"),
    )
    console = Console.of(args)
    world = create_training(scenario.world, options, PrintedVoice(console.stream, quiet=console.verbosity < 0))
    if scenario.world == "emulated":
        require_root(f"{verb} {args.scenario}", simulated_helps=True)
    interrupt_when_told_to_end()
    result = run_scenario(scenario, args.out, args.pcap, world=world)
    _show(result, console, args.json)
    return result.exit_code
