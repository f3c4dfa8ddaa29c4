"""Of `tb list`."""

from __future__ import annotations

import argparse

__all__ = ["LISTS", "configure_list"]

LISTS = ("scenarios", "topologies", "programs", "protocols", "transports", "planners", "sweeps", "faults")


def configure_list(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  ./tb list\n  ./tb list faults\n"
    parser.add_argument(
        "what", nargs="?", metavar="WHAT", choices=LISTS, help=f"{', '.join(LISTS)} (default: all of them)"
    )
    parser.add_argument("--json", action="store_true", help="a list of {name, meaning} for each, as JSON")
