"""Of `tb steering`."""

from __future__ import annotations

import argparse

__all__ = ["configure_steering"]


def configure_steering(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
Prints the rules that the commodity switches of a scenario get at the start. For a run directory, during or after the
run, it prints the rules and their counters as the controller last read them (once a second). It also prints when the
controller changed them. Ports count from 0.

examples:
  ./tb steering accelerator
  ./tb steering runs/latest
  ./tb steering accelerator --down s1:5       what is left when that port dies
"""
    parser.add_argument("what", metavar="SCENARIO|RUN_DIR", help="a built-in's name, a YAML file, or a run directory")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as in `tb run`"
    )
    parser.add_argument(
        "--down", action="append", default=[], metavar="SWITCH:PORT", help="as if this port had no carrier (scenarios)"
    )
    parser.add_argument("--json", action="store_true", help="print the tables as JSON alone on stdout")
