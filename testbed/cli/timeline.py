"""`tb timeline`: a run as lanes over time."""

from __future__ import annotations

import argparse
import sys

from testbed.cli.values import duration, named_path, whole
from testbed.terminal.stream import columns, complain
from workloads.trusted import write_named

__all__ = ["configure_timeline", "run_timeline"]


def configure_timeline(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb timeline runs/latest
  ./tb timeline runs/latest --format svg --out run.svg
  ./tb timeline runs/latest --format perfetto --out run.json
  ./tb timeline runs/latest --host h2 --from 50ms --to 60ms

The timeline has every step of queue pairs and slots if the run traced them: sudo ./tb run SCENARIO --set trace=true
"""
    parser.add_argument("run_dir", metavar="RUN_DIR", type=named_path, help="as runs/latest; its history.jsonl is read")
    parser.add_argument("--format", choices=("text", "svg", "perfetto"), default="text", help="default: text")
    parser.add_argument("--out", metavar="FILE", type=named_path, help="default: the terminal")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--qp", type=whole(0, (1 << 32) - 1), metavar="N", help="only this queue pair, as 0x621f")
    which.add_argument("--host", metavar="NAME", help="only the queue pairs of this host; over datagrams its lane")
    parser.add_argument("--slot", type=whole(0, (1 << 32) - 1), metavar="N", help="only this slot of the switches")
    parser.add_argument("--from", dest="start", type=duration(), metavar="TIME", help="since the start, as 50ms")
    parser.add_argument("--to", dest="stop", type=duration(), metavar="TIME", help="as 60ms")


def run_timeline(args: argparse.Namespace) -> int:
    from testbed.report.timeline import Selection, build_timeline, select, timeline_svg, timeline_text, timeline_trace
    from testbed.runs.kepthistory import load_history

    history = load_history(args.run_dir)
    timeline = build_timeline(history.records)
    wanted = Selection(qpn=args.qp, host=args.host, slot=args.slot, start=args.start, stop=args.stop)
    chosen = select(timeline, wanted)
    if args.format == "text":
        drawing = timeline_text(chosen, columns(sys.stdout))
    else:
        drawing = timeline_svg(chosen) if args.format == "svg" else timeline_trace(chosen)
    if history.cut:
        complain(f"tb: {history.path}: {history.cut}; what came later is not drawn")
    if (args.run_dir / "scenario.yaml").exists() and not (args.run_dir / "result.json").exists():
        complain(f"tb: {args.run_dir}: this run did not end; what it recorded until then is drawn")
    if args.out is None:
        print(drawing, end="")
        return 0
    write_named(args.out, drawing, key="--out")
    return 0
