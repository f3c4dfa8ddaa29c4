"""`tb card synth` and `tb card verilog`: the card's hardware for tools that make chips."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from switch_nodes.fpga.rtl.parameters import LARGE, SIMULATED, SMALL, RtlParameters
from testbed.terminal.standard import print_document
from testbed.terminal.stream import say
from workloads.trusted import require_trusted, write_named

__all__ = ["SIZES", "run_synth", "run_verilog"]

SIZES: dict[str, RtlParameters] = {"small": SMALL, "simulated": SIMULATED, "large": LARGE}
_MHZ = 1e6


def run_verilog(args: argparse.Namespace) -> int:
    """Raises HostCapabilityError without Amaranth, ScenarioError where the file cannot be written."""
    from switch_nodes.fpga.rtl.simulation.building import card_verilog

    text = card_verilog(SIZES[args.size])
    write_named(args.out, text.encode(), key="--out")
    say(f"{args.out}: module ina_card, {len(text.splitlines()):,} lines")
    return 0


def run_synth(args: argparse.Namespace) -> int:
    """Raises HostCapabilityError where a tool is missing or fails."""
    from switch_nodes.fpga.rtl.simulation.synthesis import FAMILIES, measured_clock, measured_size, scratch

    p = SIZES[args.size]
    families = args.families or ["ecp5"]
    rows: list[dict[str, object]] = []
    with scratch() as name:
        folder = Path(name) if args.out is None else args.out
        if args.out is not None:
            require_trusted(folder, key="--out")
            folder.mkdir(parents=True, exist_ok=True)
        for family in FAMILIES:
            if family not in families:
                continue
            size = measured_size(p, family, folder)
            clock = measured_clock(folder) if family == "ecp5" and args.clock else None
            rows.append({
                "family": family, **size.resources, "mhz": None if clock is None else round(clock.mhz, 1),
            })  # fmt: skip
    if args.json:
        print_document(json.dumps({"size": args.size, "parameters": asdict(p), "families": rows}, indent=2))
        return 0
    say(f"size {args.size}: {p.ports} ports of {p.width} bits, {p.slots} slots, {p.members} members, MTU {p.mtu}")
    for row in rows:
        mhz = row.pop("mhz")
        say(", ".join(f"{key} {value}" for key, value in row.items()))
        if mhz is None:
            say("  clock: unknown (measured with --clock for ecp5)")
        else:
            say(f"  clock: {mhz} MHz, measured by place and route; a data port carries {_rate(p, float(str(mhz)))}")
    return 0


def _rate(p: RtlParameters, mhz: float) -> str:
    """Of one port, without gaps: a bound, which a frame's work in the engine lowers."""
    return f"at most {p.width * mhz * _MHZ / 1e9:.2f} Gb/s"
