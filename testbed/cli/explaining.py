"""`tb explain`: why a run stalled."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from testbed.cli.console import Console
from testbed.cli.interpreted import again_interpreted
from testbed.cli.values import named_path
from testbed.terminal.standard import print_document
from testbed.terminal.stream import prose_columns

__all__ = ["configure_explain", "run_explain"]


def configure_explain(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
Runs the scenario of a run again in virtual time, also where the run was emulated. If workers do not finish, it looks
for the smallest set of faults with which they still do not. Then it prints what each node waits for.

For a training that failed, and for a folder of dumps of PyTorch's flight recorder, it reads the dumps. It prints the
collective that hangs, the ranks that wait in it, and the ranks that they wait for.

exit codes: 0 the job stalls and is explained, 2 it does not stall or no rank waits, 64 usage

examples:
  ./tb explain runs/latest
  ./tb explain runs/latest --out stall.yaml
  ./tb explain /tmp/nccl_traces               dumps whose names end with the rank
"""
    parser.add_argument("run_dir", metavar="RUN_DIR", type=named_path, help="as runs/latest; or a folder of dumps")
    parser.add_argument("--out", metavar="FILE", type=named_path, help="write the scenario with the smallest set there")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE",
        help="as in `tb replay`: switch.program or job.protocol of a run with code of your own",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout; all else on stderr")


def run_explain(args: argparse.Namespace) -> int:
    dumps = _dumps(Path(args.run_dir))
    if dumps is not None:
        return _explain_hang(dumps, args)
    code = again_interpreted(args.words, json=args.json)
    if code is not None:
        return code
    from testbed.explain.explanation import explain
    from testbed.explain.text import explanation_document, explanation_text
    from testbed.hunt.contract import whole_protocol
    from testbed.report.document import to_json
    from testbed.runs.replay import read_run
    from testbed.scenario import dump_scenario
    from testbed.scenario.own_program import with_stock_code
    from workloads.trusted import write_named

    console = Console.of(args)
    scenario = read_run(args.run_dir, "simulated", args.overrides).scenario
    found = explain(scenario, whole_protocol(scenario.job.protocol).waits)
    file = None
    if args.out is not None and found.stalled:
        written = replace(with_stock_code(found.scenario), name=f"{scenario.name}-stall")
        write_named(args.out, dump_scenario(written), key="--out")
        file = str(args.out)
    if console.verbosity >= 0:
        text = explanation_text(found, len(scenario.faults), file, prose_columns(console.stream))
        console.stream.write(text)
        console.stream.flush()
    if args.json:
        print_document(to_json(explanation_document(found, len(scenario.faults), file)))
    return 0 if found.stalled else 2


def _dumps(folder: Path) -> Path | None:
    """Where the dumps of flight recorders are; None: it is a run without any."""
    from workloads.traces.flight import FLIGHT_DIR

    if (folder / FLIGHT_DIR).is_dir():
        return folder / FLIGHT_DIR
    is_run = any((folder / name).exists() for name in ("scenario.yaml", "result.json"))
    return folder if folder.is_dir() and not is_run else None


def _explain_hang(folder: Path, args: argparse.Namespace) -> int:
    from testbed.explain.hang import find_hang
    from testbed.explain.hang_text import hang_document, hang_text
    from testbed.report.document import to_json
    from workloads.traces.flight import read_dumps

    console = Console.of(args)
    found = find_hang(read_dumps(folder))
    if console.verbosity >= 0:
        console.stream.write(hang_text(found, prose_columns(console.stream)))
        console.stream.flush()
    if args.json:
        print_document(to_json(hang_document(found)))
    return 0 if found.calls else 2
