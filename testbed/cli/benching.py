"""`tb bench`: measurements against a peer, a cost model or a plan."""

from __future__ import annotations

import argparse

from testbed.cli.dilating import parse_dilation
from testbed.cli.running import require_root
from testbed.cli.values import named_path, whole
from workloads.errors import ScenarioError

__all__ = ["configure_bench", "run_bench"]


def configure_bench(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  sudo ./tb bench allreduce --json
  ./tb bench hierarchical
  ./tb bench ina --csv ina.csv            the whole grid, on all cores; again: goes on after an interruption
  ./tb bench ina --quick --jobs 1
  sudo ./tb bench ina --emulated          a few points in both worlds, medians of 3 repeats
  sudo ./tb bench peers --csv peers.csv   gloo, OpenMPI, ring, NetReduce on the same links
  sudo ./tb bench peers --quick --plot peers.svg
  ./tb bench loss --quick                 JCT over loss, by protocol and loss recovery; goes on after an interruption
  sudo ./tb bench loss --emulated
  ./tb bench papers --quick       headlines of papers, and whether they hold here
  ./tb bench grid                         routes on the network, compared with their plan
  sudo ./tb bench grid --emulated --slower 3
  ./tb bench grid --plan-only sensitivity
  ./tb bench grid --plan-only scale,growth --seeds 10
"""
    parser.add_argument(
        "name", metavar="NAME", help="allreduce, evolution, fabric, grid, hierarchical, ina, loss, papers, peers"
    )
    parser.add_argument("--world", metavar="W", help="simulated or emulated, where a bench measures in both")
    parser.add_argument(
        "--emulated", dest="world", action="store_const", const="emulated", help="the same as --world emulated"
    )
    parser.add_argument(
        "--plan-only", metavar="TABLES", nargs="?", const="all",
        help="grid: tables of plans, nothing is sent: sensitivity, rounding, scale, slots, growth, with commas between "
             "(default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--slower", type=whole(1, 100), metavar="N", default=1,
        help="grid: divide all rates by N, for machines with too little CPU time",
    )  # fmt: skip
    parser.add_argument(
        "--dilation", type=parse_dilation, metavar="K|auto",
        help="allreduce, peers: real seconds of an emulated one (default: auto, as many as this machine needs)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the rows as JSON alone on stdout")
    parser.add_argument("--quick", action="store_true", help="evolution, ina, loss, papers, peers: fewer points")
    parser.add_argument(
        "--jobs",
        type=whole(1, 999),
        metavar="N",
        help="evolution, ina, loss, papers: runs at the same time (default: one per core; --emulated: one)",
    )
    parser.add_argument(
        "--seeds", type=whole(1, 999), metavar="N",
        help="ina, loss, papers: runs of each point. Default for ina: 2 or 3, with --emulated 1. "
             "Default for loss: 5, with --emulated or --quick 3. "
             "With grid --plan-only scale: draws of each row (default: 10)",
    )  # fmt: skip
    parser.add_argument(
        "--csv", type=named_path, metavar="FILE",
        help="evolution, ina, loss, papers, peers: also write every run as a line of FILE, a new one",
    )  # fmt: skip
    parser.add_argument(
        "--plot",
        type=named_path,
        metavar="FILE",
        help="peers: where the plot is written (default: runs/bench-peers.svg)",
    )
    parser.add_argument(
        "--repeats", type=whole(1, 99), metavar="N", help="ina --emulated, peers: runs of each point (default: 3)"
    )


def run_bench(args: argparse.Namespace) -> int:
    from testbed import bench
    from testbed.kernel.interruption import interrupt_when_told_to_end

    interrupt_when_told_to_end()
    if args.plan_only is not None:
        return _bench_plans(args)
    world = bench.bench_world(args.name, args.world)
    if world == "emulated":
        require_root(f"bench {args.name}")
    options = bench.BenchOptions(
        args.quick, args.jobs, args.seeds, args.csv, args.slower, args.repeats, args.dilation, args.plot
    )
    return bench.run_bench(args.name, as_json=args.json, world=world, options=options)


def _bench_plans(args: argparse.Namespace) -> int:
    from testbed import bench

    bench.bench_world(args.name)
    plans = bench.plans_of(args.name)
    if args.world is not None:
        raise ScenarioError("plans are made in no world", file="tb bench", key="--world", allowed="without --plan-only")

    given = {
        "--quick": args.quick,
        "--jobs": args.jobs,
        "--csv": args.csv,
        "--repeats": args.repeats,
        "--slower": args.slower != 1,
        "--dilation": args.dilation,
        "--plot": args.plot,
    }
    for flag in (flag for flag, value in given.items() if value):
        raise ScenarioError(
            "tables of plans have no such option", file=f"tb bench {args.name}", key=flag, allowed="--seeds, --json"
        )
    return plans(args.plan_only, args.seeds, args.json)
