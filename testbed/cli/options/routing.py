"""Of `tb route`."""

from __future__ import annotations

import argparse

from testbed.cli.values import named_path, seed

__all__ = ["configure_route"]


def configure_route(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
`tb list planners` prints the planners.

examples:
  ./tb route grid-triangle
  ./tb route grid-triangle --planner atp --svg atp.svg
  ./tb route grid-triangle --planner grid-lp --switch-capacity 60Mbps --switch-capacity s2=30Mbps
  ./tb route grid-triangle --set topology.server_link.rate=60Mbps --json > plan.json
  ./tb route plan.json                            a plan that was saved, checked and shown
"""
    parser.add_argument(
        "scenario", metavar="SCENARIO", help="a built-in's name, a YAML file with `routing`, or a saved plan (*.json)"
    )
    parser.add_argument("--planner", metavar="P", help="default: the scenario's")
    parser.add_argument(
        "--switch-capacity", dest="capacities", action="append", default=[], metavar="[SWITCH=]RATE",
        help="what switches can aggregate, as 90Mbps for all or s1=60Mbps for one; may be repeated",
    )  # fmt: skip
    parser.add_argument("--seed", type=seed, metavar="N", help="for planners that draw (default: the scenario's)")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as in `tb run`"
    )
    parser.add_argument("--svg", type=named_path, metavar="FILE", help="draw the plan")
    parser.add_argument("--json", action="store_true", help="print the plan as JSON alone on stdout")
