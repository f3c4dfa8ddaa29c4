"""Of `tb strategies`."""

from __future__ import annotations

import argparse

from testbed.cli.values import named_path, whole
from testbed.scenario.protocols.names import DEFAULT_RING

__all__ = ["DEFAULT_BANDWIDTH", "configure_strategies"]

DEFAULT_BANDWIDTH = "100Gbps"


def configure_strategies(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb strategies vgg16 --devices 8
  ./tb strategies vgg16 --devices 8 --bandwidth 10Gbps --strategy DP --plot frontier.svg
  ./tb strategies alexnet --scenario rack --set topology.hosts=8 --protocol netreduce
  ./tb strategies resnet50 --scenario spine-leaf --devices 4 --csv resnet50.csv
  ./tb strategies mine.yaml --devices 4 --json
"""
    parser.add_argument(
        "chain", metavar="MODEL", help="alexnet, vgg16, resnet50, or a YAML file with operators (docs/strategies.md)"
    )
    parser.add_argument(
        "--devices", type=whole(2, 512), metavar="P", help="that share the model (with --scenario: default all hosts)"
    )
    parser.add_argument(
        "--bandwidth", metavar="RATE",
        help=f"of each device, payload (default: {DEFAULT_BANDWIDTH}; with --scenario it follows from the links)",
    )  # fmt: skip
    parser.add_argument(
        "--protocol",
        type=_protocol,
        metavar="C",
        default=DEFAULT_RING,
        help="how vectors are summed: ring, netreduce, ... (`tb list protocols`; default: ring)",
    )
    parser.add_argument("--batch", type=whole(1, 1 << 20), metavar="N", help="images of an iteration (default: 32)")
    parser.add_argument(
        "--device-gflops", type=whole(1, 10**9), metavar="N",
        help="10^9 floating-point operations per second of a device (default: 10000)",
    )  # fmt: skip
    parser.add_argument(
        "--strategy", dest="strategies", action="append", default=[], metavar="S",
        help="also this one, as DP, MP or 5xDP,3xMP; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--scenario", metavar="SCENARIO",
        help="measure each strategy over this scenario's network (a built-in's name or a YAML file), in virtual time",
    )  # fmt: skip
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as in `tb run`"
    )
    parser.add_argument(
        "--divide", type=whole(1, 10**9), metavar="N",
        help="with --scenario: vectors are smaller by N, which stands for links N times as fast (default: 1000)",
    )  # fmt: skip
    parser.add_argument("--plot", type=named_path, metavar="FILE", help="draw memory against time (SVG)")
    parser.add_argument("--csv", type=named_path, metavar="FILE", help="write a line for each strategy")
    parser.add_argument("--json", action="store_true", help="print the points as JSON alone on stdout")


def _protocol(name: str) -> str:
    from testbed.scenario.protocols.known import names_where
    from testbed.scenario.protocols.protocol import KeyGroup

    allowed = names_where(lambda each: each.as_stage())
    allowed += names_where(lambda each: KeyGroup.LAYERS in each.optional_keys())
    if name not in allowed:
        raise argparse.ArgumentTypeError(f"found {name!r}; allowed: {', '.join(allowed)}")
    return name
