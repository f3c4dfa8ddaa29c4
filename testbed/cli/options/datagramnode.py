"""Of `tb server`."""

from __future__ import annotations

import argparse

from testbed.cli.values import named_path

__all__ = ["configure_server"]


def configure_server(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ip netns exec h5 ./tb server --config h5.yaml --port h5-eth0

FILE holds the fields of ServerConfig (workloads/server/config.py): name, envelope, jobs. JSON is YAML, so both will do.
SIGTERM ends it; docs/switch-node.md has it all.
"""
    parser.add_argument(
        "--config", type=named_path, required=True, metavar="FILE", help="the configuration of this server"
    )
    parser.add_argument("--port", required=True, metavar="IFACE", help="the host's interface")
    parser.add_argument(
        "--barrier", action="store_true",
        help="say on stdout when ready, start when a line comes on stdin, end when stdin does",
    )  # fmt: skip
