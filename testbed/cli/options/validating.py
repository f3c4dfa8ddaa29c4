"""Of `tb validate`."""

from __future__ import annotations

import argparse

__all__ = ["configure_validate"]


def configure_validate(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  ./tb validate my.yaml\n  ./tb validate rack --set topology.hosts=8 --resolved\n"
    parser.add_argument("scenario", metavar="SCENARIO", help="a built-in's name (`tb list scenarios`) or a YAML file")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as in `tb run`"
    )
    parser.add_argument("--resolved", action="store_true", help="print the scenario with every default written out")
    parser.add_argument(
        "--json",
        action="store_true",
        help="what it means, or every problem with file, line and key, as JSON alone on stdout",
    )
