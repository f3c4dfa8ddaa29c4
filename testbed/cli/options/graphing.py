"""Of `tb graph`."""

from __future__ import annotations

import argparse

from testbed.cli.values import named_path

__all__ = ["configure_graph"]


def configure_graph(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb graph spine-leaf-ring --out fabric.svg
  ./tb graph fat-tree-ring --set topology.k=2 --format mermaid
  ./tb graph my.yaml --format dot | dot -Tpdf > my.pdf
"""
    parser.add_argument("scenario", metavar="SCENARIO", help="a built-in's name (`tb list scenarios`) or a YAML file")
    parser.add_argument("--format", choices=["svg", "dot", "mermaid"], help="default: what FILE's name says, else svg")
    parser.add_argument("--out", type=named_path, metavar="FILE", help="default: stdout")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as in `tb run`"
    )
