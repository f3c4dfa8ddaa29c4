"""`tb doctor` and `tb cleanup`: what this machine can do, and what dead runs left on it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

from testbed.cli.running import require_root
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns, complain, say, wants_color

__all__ = ["configure_cleanup", "configure_doctor", "run_cleanup", "run_doctor"]


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  sudo ./tb doctor\n  sudo ./tb doctor --json\n  sudo ./tb doctor --calibrate\n"
    parser.add_argument("--json", action="store_true", help="print the table as JSON alone on stdout")
    parser.add_argument(
        "--calibrate", action="store_true",
        help="measure what a packet costs this machine, and keep it for `dilation: auto`; takes about ten seconds",
    )  # fmt: skip


def run_doctor(args: argparse.Namespace) -> int:
    from testbed import doctor

    if args.calibrate:
        _calibrate()
    probes = doctor.probe_all()
    if args.json:
        print_document(json.dumps(doctor.as_json(probes), indent=2))
        return 0
    for line in doctor.as_lines(probes, columns(sys.stdout), color=wants_color(sys.stdout, args.no_color)):
        print(line)
    for line in _calibration_lines():
        say(line)
    return 0


def _calibrate() -> None:
    require_root("doctor --calibrate")
    from testbed.runs.calibration import calibrate, keep_calibration

    path = keep_calibration(calibrate(lambda text: complain(f"calibration: {text}")))
    complain(f"calibration: kept as {path}")


def _calibration_lines() -> Iterator[str]:
    """What is kept for `--dilation auto`."""
    from testbed.runs.calibration import kept_calibration

    kept = kept_calibration()
    if kept is None:
        yield (
            "For `dilation: auto` this machine is not calibrated yet: `tb doctor --calibrate`, or the first run, "
            "does that."
        )
        return
    costs = ", ".join(
        f"{1e9 / kept.dense_ns['host'][size]:,.0f} of a host and {1e9 / kept.dense_ns['switch'][size]:,.0f} of a "
        f"switch with {size} bytes"
        for size in kept.dense_ns["host"]
    )
    yield f"Calibrated {kept.measured} UTC for `dilation: auto`; packets per CPU second: {costs}."


def configure_cleanup(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  sudo ./tb cleanup\n  sudo ./tb cleanup --run 20260101-120000-rack-1\n"
    parser.add_argument("--run", dest="run_id", metavar="ID", help="only this run (default: every run that is dead)")


def run_cleanup(args: argparse.Namespace) -> int:
    require_root("cleanup")
    from testbed.kernel.cleanup import clean

    removed = clean(args.run_id)
    if args.run_id is None:
        from testbed.train.place import remove_dead_place

        removed += tuple(filter(None, [remove_dead_place()]))
    if not args.quiet:
        for item in removed:
            say(f"removed {item}")
        if not removed:
            say("nothing of the testbed was left")
    return 0
