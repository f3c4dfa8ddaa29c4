"""`tb hunt`: search for the fault schedule that breaks a rule."""

from __future__ import annotations

import argparse

from testbed.cli.console import Console
from testbed.cli.parsing import INTERRUPTED
from testbed.cli.values import named_path, seed, whole
from testbed.terminal.standard import print_document
from testbed.terminal.stream import complain, prose_columns
from workloads.errors import ScenarioError

__all__ = ["configure_hunt", "run_hunt"]

_RECOVERY = "transport.recovery"
_MOST_SCHEDULES, _MOST_JOBS = 10**9, 256


def configure_hunt(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
Every schedule is a small job in virtual time with drawn faults; each is judged by all checkers. The first that breaks a
rule is shrunk, and written as a scenario file that replays. The same command continues a stopped hunt, and repeats the
schedules that another version of the code ran.

exit codes: 0 no schedule broke a rule, 1 one did, 64 usage, 130 interrupted (the state is kept)

examples:
  ./tb hunt --schedules 100000 --jobs 2
  ./tb hunt --fabric --schedules 100000 --jobs 2
  ./tb hunt --fabric --schedules 100000 --jobs 2 --set transport.recovery=irn
  ./tb hunt --pfc --schedules 20000 --jobs 2
  ./tb hunt --protocol esa --schedules 100000 --jobs 2
  ./tb hunt --guided --protocol atp --schedules 20000 --jobs 2
  ./tb hunt rack --schedules 200 --seed 7
  ./tb hunt --schedules 2000 --set switch.program=my.py:MyProgram
  ./tb hunt --card rtl --schedules 1000
"""
    parser.add_argument(
        "scenario", metavar="SCENARIO", nargs="?", help="hunt in this one: only faults and seeds are drawn (its own "
                                                        "faults are "
        "left out); default: racks, jobs, links and faults are drawn",
    )  # fmt: skip
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--fabric", action="store_true", help="draw racks under spines: two-level NetReduce")
    place.add_argument(
        "--pfc", action="store_true", help="draw racks whose switch pauses its senders (PFC), with slow receivers, "
                                           "pause storms and other tenants",
    )  # fmt: skip
    parser.add_argument(
        "--protocol", metavar="NAME",
        help="the protocol to hunt in, if there is no SCENARIO: netreduce, or another (`tb list protocols`). "
             "Default: that of the class that switch.program derives from, else netreduce",
    )  # fmt: skip
    parser.add_argument(
        "--card", choices=("rtl",), help="the switch is the card in hardware, as with --set switch.program=rtl; its "
                                         "hosts then repair losses by gbn, unless --set says more",
    )  # fmt: skip
    parser.add_argument(
        "--guided", action="store_true",
        help="make half of the schedules out of those that did something new, and report what was not seen (default: "
             "draw each independently)",
    )  # fmt: skip
    parser.add_argument("--schedules", type=whole(1, _MOST_SCHEDULES), default=1000, metavar="N", help="default: 1000")
    parser.add_argument("--seed", type=seed, default=1, metavar="S", help="default: 1")
    parser.add_argument("--jobs", type=whole(1, _MOST_JOBS), default=1, metavar="J", help="processes (default: 1)")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE",
        help="as in `tb run`; without SCENARIO only switch.program=PATH.py:CLASS, job.protocol=PATH.py:NAME and "
             "transport.recovery=gbn, irn, irn-rack or irn-held (default: drawn)",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="DIR", type=named_path, help="where the state is kept (default: hunts/NAME-SEED-N)"
    )
    parser.add_argument("--json", action="store_true", help="print summary.json alone on stdout; all else on stderr")


def run_hunt(args: argparse.Namespace) -> int:
    from testbed.hunt.draw_fabric import FABRIC, RACK
    from testbed.hunt.draw_pfc import PFC
    from testbed.hunt.hunt import kind_of_hunt, prepare
    from testbed.hunt.inferred import IN_RINGS, inferred_protocol
    from testbed.hunt.progress import HuntProgress
    from testbed.hunt.state import GUIDED, RANDOM
    from testbed.hunt.summary import summary_text
    from testbed.report.document import to_json

    console = Console.of(args)
    overrides = args.overrides if args.card is None else _with_card(args)
    protocol = args.protocol or (IN_RINGS if args.scenario else inferred_protocol(overrides))
    kind = kind_of_hunt(protocol, FABRIC if args.fabric else PFC if args.pfc else RACK)
    search = GUIDED if args.guided else RANDOM
    hunt = prepare(args.scenario, overrides, args.seed, args.schedules, args.out, kind, search)
    progress = HuntProgress(args.schedules, str(hunt.folder))
    try:
        end = hunt.run(args.jobs, progress if console.verbosity >= 0 else lambda done, before, again: None)
    except KeyboardInterrupt:
        complain(f"tb: interrupted; the same command goes on where {hunt.folder} stands")
        return INTERRUPTED
    finally:
        progress.close()
    if console.verbosity >= 0:
        console.stream.write(summary_text(end.document, prose_columns(console.stream)))
        console.stream.write(f"Hunt directory: {end.folder}\n")
        console.stream.flush()
    if args.json:
        print_document(to_json(end.document))
    return end.exit_code


def _with_card(args: argparse.Namespace) -> list[str]:
    """The overrides with the card in hardware. It serves one switch, and hosts that go back N."""
    from testbed.cli.hardware import with_hardware

    if args.fabric:
        raise ScenarioError(
            "has switches that sum together, and the card in hardware has no feature FABRIC", file="tb hunt",
            key="--fabric", allowed="omit it, or --card",
        )  # fmt: skip
    overrides = with_hardware(args.overrides, "tb hunt")
    if args.scenario is None and not any(text.partition("=")[0].strip() == _RECOVERY for text in overrides):
        overrides.append(f"{_RECOVERY}=gbn")
    return overrides
