"""`tb strategies`: which parallelisation strategies of a model are worth having, and how long they take over a
fabric."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli.console import Console
from testbed.cli.options.strategies import DEFAULT_BANDWIDTH
from testbed.reading.problems import closest
from testbed.terminal.folding import fold_lines
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns, shown_path
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    from testbed.strategies import StrategyRows
    from workloads.strategies import Chain
    from workloads.strategies.costs import Devices

__all__ = ["run_strategies"]


def run_strategies(args: argparse.Namespace) -> int:
    from testbed.strategies import plot_svg, to_csv, to_json
    from workloads.trusted import write_named

    console = Console.of(args)
    rows = _rows(_chain(args), args, console)
    if args.csv is not None:
        write_named(args.csv, to_csv(rows), key="--csv")
    if args.plot is not None:
        write_named(args.plot, plot_svg(rows), key="--plot")
    if console.verbosity >= 0:
        for line in fold_lines(rows.lines(columns(console.stream)), columns(console.stream)):
            print(line, file=console.stream)
        for path in (args.csv, args.plot):
            if path is not None:
                print(f"\nWritten: {shown_path(path)}", file=console.stream)
    if args.json:
        print_document(to_json(rows))
    return rows.exit_code


def _chain(args: argparse.Namespace) -> Chain:
    from testbed.scenario.keys.chains import load_chain
    from workloads.strategies import CHAIN_NAMES, chain_of_model
    from workloads.strategies.models import DEFAULT_BATCH, DEFAULT_DEVICE_FLOPS

    if args.chain in CHAIN_NAMES:
        flops = DEFAULT_DEVICE_FLOPS if args.device_gflops is None else args.device_gflops * 1e9
        return chain_of_model(args.chain, args.batch or DEFAULT_BATCH, flops)
    if not args.chain.endswith((".yaml", ".yml")):
        raise ScenarioError(
            "no such model", file="tb strategies", found=f"'{args.chain}'",
            allowed=f"{', '.join(CHAIN_NAMES)}, or a file (*.yaml)", hint=closest(args.chain, CHAIN_NAMES),
        )  # fmt: skip
    for flag, given in (("--batch", args.batch), ("--device-gflops", args.device_gflops)):
        if given is not None:
            raise ScenarioError(
                "means nothing for a chain of your own", file="tb strategies", key=flag,
                allowed="activations and compute in the file",
            )  # fmt: skip
    return load_chain(Path(args.chain), args.chain)


def _rows(chain: Chain, args: argparse.Namespace, console: Console) -> StrategyRows:
    """The frontier and the strategies that were asked for, measured where there is a scenario."""
    from testbed.strategies import MeasuredFabric, StrategyRows, devices_of, measured
    from testbed.strategies.shown import StrategyRow
    from workloads.strategies import StrategyPoint, frontier, price_of
    from workloads.strategies.chain import parse_strategy

    fabric = None
    if args.scenario is None:
        devices = _modelled(args)
    else:
        if args.bandwidth is not None:
            raise ScenarioError(
                "follows from the links of the scenario", file="tb strategies", key="--bandwidth",
                allowed="--set topology.link.rate=RATE",
            )  # fmt: skip
        fabric = MeasuredFabric(args.scenario, tuple(args.overrides), args.protocol, args.divide or 1000, args.devices)
        devices = devices_of(fabric, chain)
    asked = []
    for text in args.strategies:
        try:
            asked.append(parse_strategy(text, len(chain.operators)))
        except ScenarioError as error:
            raise ScenarioError(
                error.problem, file="tb strategies", key="--strategy", found=error.found, allowed=error.allowed
            ) from None
    best = frontier(chain, devices)
    known = {point.strategy for point in best}
    others = [StrategyPoint(item, price_of(chain, item, devices)) for item in dict.fromkeys(asked) if item not in known]
    points = sorted([*best, *others], key=lambda point: (point.price.memory_bytes, point.price.time_s))
    rows = []
    for number, point in enumerate(points, 1):
        if fabric is not None and console.verbosity >= 1:
            print(f"measuring {number} of {len(points)}", file=sys.stderr)
        found = None if fabric is None else measured(fabric, chain, point.strategy)
        rows.append(StrategyRow(point, point.strategy in known, found))
    return StrategyRows(chain, devices, tuple(rows), fabric)


def _modelled(args: argparse.Namespace) -> Devices:
    """Without a fabric."""
    from testbed.reading.units import UnitError, parse_rate
    from workloads.collectives.kinds import sent_share
    from workloads.strategies.costs import Devices

    for flag, given in (("--set", args.overrides), ("--divide", args.divide)):
        if given:
            raise ScenarioError(
                "means nothing where nothing is measured", file="tb strategies", key=flag, allowed="with --scenario"
            )
    if args.devices is None:
        raise ScenarioError(
            "is missing", file="tb strategies", key="--devices", allowed="a whole number from 2, or --scenario"
        )
    try:
        rate_bps = parse_rate(args.bandwidth or DEFAULT_BANDWIDTH)
    except UnitError as error:
        raise ScenarioError(
            error.problem, file="tb strategies", key="--bandwidth", found=f"'{args.bandwidth}'", allowed=error.allowed,
            hint=error.hint,
        ) from error  # fmt: skip
    return Devices(args.devices, rate_bps / 8, sent_share(args.protocol, args.devices))
