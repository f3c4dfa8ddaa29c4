"""`tb dissector`: our headers in Wireshark and tshark."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from testbed.cli.values import named_path
from testbed.terminal.standard import print_document
from workloads.errors import HostCapabilityError, ScenarioError
from workloads.trusted import require_trusted, write_named

__all__ = ["configure_dissector", "run_dissector"]

_NAME = "ina-testbed.lua"


def configure_dissector(parser: argparse.ArgumentParser) -> None:
    parser.epilog = """\
examples:
  ./tb dissector --install
  ./tb dissector > ina.lua; tshark -X lua_script:ina.lua -r runs/latest/pcap/h1-s1.pcapng -V
"""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--install", action="store_true", help="write it where Wireshark of this user looks for plug-ins, and say where"
    )
    where.add_argument("--out", type=named_path, metavar="FILE", help="default: stdout")


def run_dissector(args: argparse.Namespace) -> int:
    from testbed.captures.dissector import dissector
    from testbed.scenario.transports import known_transports
    from workloads.datagrams.transport import DATAGRAMS

    text = dissector(each for each in known_transports() if each is not DATAGRAMS)
    out = _plugins() / _NAME if args.install else args.out
    if out is None:
        print_document(text)
        return 0
    if args.install:
        require_trusted(out, key="--install")
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ScenarioError(
                "cannot be made", file=str(out.parent), key="--install", found=str(error.strerror)
            ) from error
    write_named(out, text, key="--install" if args.install else "--out")
    if args.install:
        print(f"{out}: Wireshark reads it when it starts, or with Analyze, Reload Lua Plugins")
    return 0


def _plugins() -> Path:
    """The folder of this user's Lua plug-ins, as Wireshark names it."""
    from testbed.doctor.programs import package_of

    program = shutil.which("tshark")
    if program is None:
        raise HostCapabilityError(
            "tshark, which knows where plug-ins belong", f"apt-get install {package_of('tshark')}; or --out FILE"
        )
    folders = subprocess.run([program, "-G", "folders"], capture_output=True, text=True, timeout=30, check=False).stdout
    for line in folders.splitlines():
        what, _, path = line.partition(":")
        if what.strip() == "Personal Lua Plugins" and path.strip():
            return Path(os.path.expanduser(path.strip()))
    raise HostCapabilityError(
        "a tshark that runs Lua plug-ins (`tshark -G folders` names no folder)", "Wireshark 3 or later"
    )
