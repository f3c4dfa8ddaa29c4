"""`tb run`, `tb demo`, `tb replay`, `tb bench`: whatever makes a run and ends with its exit code."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from testbed.cli.console import Console
from workloads.errors import HostCapabilityError, ScenarioError

__all__ = [
    "configure_bench",
    "configure_demo",
    "configure_replay",
    "configure_run",
    "run_bench",
    "run_demo",
    "run_replay",
    "run_run",
]


def require_root(command: str, *, simulated_helps: bool = False) -> None:
    """Raises HostCapabilityError when we are not root: network namespaces and packet sockets need it."""
    if os.geteuid() != 0:
        other = " (or add --world simulated, which needs no root)" if simulated_helps else ""
        raise HostCapabilityError(
            "root: network namespaces and packet sockets need it", f"try: sudo ./tb {command}{other}"
        )


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="DIR", type=Path, help="run directory (default: runs/TIME-NAME-SEED)")
    parser.add_argument("--pcap", action="store_true", help="also write one pcapng per link into the run directory")
    parser.add_argument("--json", action="store_true", help="print result.json alone on stdout; all else on stderr")


def configure_run(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  sudo ./tb run rack-lossy
  sudo ./tb run psn-wrap --seed 3 --pcap --out /tmp/wrap
  sudo ./tb run rack --set topology.hosts=8 --set topology.link.rate=300Mbps --json
"""
    parser.add_argument("scenario", metavar="SCENARIO", help="a built-in's name (`tb list scenarios`) or a YAML file")
    parser.add_argument("--world", help="emulated or simulated (default: as the scenario says)")
    parser.add_argument("--seed", type=_seed, metavar="N", help="decides PSNs, gradients and which packets are struck")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE",
        help="change one key, as faults[0].rate=3%%; may be repeated",
    )  # fmt: skip
    _add_output_options(parser)


def run_run(args: argparse.Namespace) -> int:
    from testbed.scenario import load_scenario

    scenario = load_scenario(args.scenario, args.overrides, args.seed, args.world)
    if scenario.world == "emulated":
        require_root(f"run {args.scenario}", simulated_helps=True)
    from testbed.run import run_scenario

    return _finish(run_scenario(scenario, args.out, args.pcap, Console.of(args)), args)


def _finish(result: Any, args: argparse.Namespace) -> int:
    if args.json:
        from testbed.report.document import to_json

        sys.stdout.write(to_json(result.document).rstrip("\n") + "\n")
    return int(result.exit_code)


def configure_demo(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  sudo ./tb demo
  sudo ./tb demo --hosts 8 --loss 3% --seed 7
"""
    parser.add_argument("--hosts", type=_hosts, default=4, metavar="N", help="workers, 2 to 32 (default: 4)")
    parser.add_argument("--loss", type=_loss, default=0.01, metavar="P", help="loss both ways, as 3%% (default: 1%%)")
    parser.add_argument("--seed", type=_seed, default=1, metavar="N", help="default: 1")
    _add_output_options(parser)


def run_demo(args: argparse.Namespace) -> int:
    require_root("demo")
    from testbed import demo

    result = demo.run_demo(
        hosts=args.hosts, loss=args.loss, seed=args.seed, out=args.out, pcap=args.pcap, reporter=Console.of(args)
    )
    return _finish(result, args)


def configure_replay(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  sudo ./tb replay runs/latest\n"
    parser.add_argument("run_dir", metavar="RUN_DIR", type=Path, help="as runs/latest")


def run_replay(args: argparse.Namespace) -> int:
    scenario_file = args.run_dir / "scenario.yaml"
    if not scenario_file.is_file():
        raise ScenarioError(
            "not a run directory", file=str(args.run_dir), found="no scenario.yaml in it", allowed="as runs/latest"
        )
    from testbed.scenario import load_scenario

    if load_scenario(str(scenario_file)).world == "emulated":
        require_root(f"replay {args.run_dir}")
    from testbed.replay import replay

    return int(replay(args.run_dir))


def configure_bench(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  sudo ./tb bench allreduce\n  sudo ./tb bench allreduce --json\n"
    parser.add_argument("name", metavar="NAME", help="as allreduce")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON alone on stdout")


def run_bench(args: argparse.Namespace) -> int:
    require_root(f"bench {args.name}")
    from testbed import bench

    return int(bench.run_bench(args.name, args.json) or 0)


def _seed(text: str) -> int:
    try:
        seed = int(text, 0)
    except ValueError:
        seed = -1
    if not 0 <= seed < 1 << 63:
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: a whole number from 0 to 2^63-1")
    return seed


def _hosts(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 2 <= int(text[:9]) <= 32:
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: a whole number from 2 to 32")
    return int(text)


def _loss(text: str) -> float:
    from testbed.scenario.units import UnitError, parse_probability

    try:
        return parse_probability(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(f"found {text!r}; {error}") from None
