"""`tb doctor` and `tb cleanup`: what this machine can do, and what dead runs left on it."""

from __future__ import annotations

import argparse
import json
import sys

from testbed.cli.running import require_root
from testbed.terminal.stream import columns, say, wants_color

__all__ = ["configure_cleanup", "configure_doctor", "run_cleanup", "run_doctor"]


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  sudo ./tb doctor\n  sudo ./tb doctor --json\n"
    parser.add_argument("--json", action="store_true", help="print the table as JSON alone on stdout")


def run_doctor(args: argparse.Namespace) -> int:
    from testbed import doctor

    probes = doctor.probe_all()
    if args.json:
        print(json.dumps(doctor.as_json(probes), indent=2))
        return 0
    for line in doctor.as_lines(probes, columns(sys.stdout), color=wants_color(sys.stdout, args.no_color)):
        print(line)
    return 0


def configure_cleanup(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  sudo ./tb cleanup\n  sudo ./tb cleanup --run 20260101-120000-rack-1\n"
    parser.add_argument("--run", dest="run_id", metavar="ID", help="only this run (default: every run that is dead)")


def run_cleanup(args: argparse.Namespace) -> int:
    require_root("cleanup")
    from testbed.kernel.cleanup import clean

    removed = clean(args.run_id)
    if not args.quiet:
        for item in removed:
            say(f"removed {item}")
        if not removed:
            say("nothing of ours was left")
    return 0
