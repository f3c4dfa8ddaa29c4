"""Of `tb lab`."""

from __future__ import annotations

import argparse

from switch_nodes.fpga.cards import CARD_KINDS
from testbed.cli.values import duration, hosts, named_path

__all__ = ["ACTIONS", "configure_lab"]

ACTIONS = {
    "up": "make an emulated lab on this machine (--emulated)",
    "down": "remove it",
    "list": "what the inventory holds; connects to no host",
    "trust": "show the host keys, and record them with --yes",
    "check": "OS, interfaces, MTU, clock, disk and versions of hosts",
    "deploy": "this package and its agent to hosts",
    "status": "leases, cards and runs of hosts",
    "lease": "hosts and their cards for you alone, for --time",
    "release": "give them back; --break: also leases of other users",
    "collect": "files of a run from hosts",
    "power-cycle": "switch hosts off and on",
    "program": "load a bitstream into a card",
    "reset": "a card as after power-on",
    "run": "a scenario on the lab, as tb run SCENARIO --world lab",
    "console": "a shell on one host",
}
"""those between `trust` and `run` are steps of drivers, in their words"""


def configure_lab(parser: argparse.ArgumentParser) -> None:
    actions = "\n".join(f"  {name:<12} {text}" for name, text in ACTIONS.items())
    parser.epilog = f"""\
actions:
{actions}

examples:
  sudo ./tb lab up --emulated && sudo ./tb run rack --world lab
  sudo ./tb lab up --emulated --card rtl && sudo ./tb run rack-lossy --world lab
  ./tb lab trust --inventory lab.yaml --yes
  ./tb lab check workers --inventory lab.yaml
  ./tb lab program fpga0 --bitstream rack.bit --inventory lab.yaml
"""
    parser.add_argument("action", metavar="ACTION", choices=list(ACTIONS), help=", ".join(ACTIONS))
    parser.add_argument("names", metavar="NAME", nargs="*", help="hosts or groups (default: all); a card; a run")
    parser.add_argument(
        "--inventory",
        metavar="FILE",
        type=named_path,
        help="default: $INA_LAB, lab.yaml here, or the emulated lab that is up",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would run where, and touch nothing")
    parser.add_argument("--json", action="store_true", help="steps as JSON lines on stdout")
    parser.add_argument("--emulated", action="store_true", help="up: a lab of namespaces, with an sshd each")
    parser.add_argument("--hosts", type=hosts(1), default=4, metavar="N", help="up: workers, 1 to 32 (default: 4)")
    parser.add_argument(
        "--card", choices=CARD_KINDS, default=CARD_KINDS[0],
        help="up: what the card is. rtl: the card in hardware, simulated; the lab's time is then slower",
    )  # fmt: skip
    parser.add_argument("--no-card", action="store_true", help="up: without an emulated card")
    parser.add_argument(
        "--tunnels", action="store_true", help="up: no workers, the card's N ports are VXLAN tunnels (tb run --card)"
    )
    parser.add_argument(
        "--card-fault",
        action="append",
        default=[],
        metavar="F",
        help="up: what is wrong with the card, as agent-dies:10",
    )
    parser.add_argument("--name", default="emulated", metavar="NAME", help="up, down: of the lab (default: emulated)")
    parser.add_argument(
        "--time",
        type=duration(least_ns=10**9),
        default="60min",
        metavar="TIME",
        help="lease: how long (default: 60min)",
    )
    parser.add_argument(
        "--break",
        dest="break_",
        action="store_true",
        help="release: also a lease of another user, whose name is printed",
    )
    parser.add_argument(
        "--bitstream", type=named_path, metavar="FILE", help="program: what to load (default: as the inventory says)"
    )
    parser.add_argument("--yes", action="store_true", help="trust: record the keys that are shown")
    parser.add_argument("--replace", action="store_true", help="trust: also where another key is trusted now")
    parser.add_argument(
        "--out", type=named_path, metavar="DIR", help="collect, run: where to (default of collect: ./RUN)"
    )
