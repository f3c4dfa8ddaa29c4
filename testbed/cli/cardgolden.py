"""One golden run: trace, reference, card, comparison, files, exit code."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from switch_nodes.config import LeafLinks, SwitchConfig
from switch_nodes.fpga.conversion import words_of
from switch_nodes.fpga.faults import parse_fault
from switch_nodes.fpga.golden import Output, TimedFrame, compare, describe, play, reference_outputs, sums_in
from switch_nodes.fpga.program import create_card
from switch_nodes.fpga.regmap import REGISTERS
from testbed.history.verdict import Verdict
from testbed.lab.cards.configfile import config_text
from testbed.lab.cards.driving import driver_at
from testbed.lab.cards.ports import play_through
from testbed.lab.cards.traces import read_trace, write_trace
from testbed.terminal.standard import print_document
from workloads.errors import HostCapabilityError, ScenarioError
from workloads.trusted import require_trusted

__all__ = ["run_golden"]


def run_golden(args: argparse.Namespace) -> int:
    """`args`: those of `tb card golden`. Raises ScenarioError, CardError, HostCapabilityError."""
    config, inputs = _trace(args)
    if args.mutate is not None:
        from testbed.lab.cards.mutation import mutated

        inputs = mutated(inputs, config.ports, args.mutate)
    inputs = inputs[: args.frames]
    expected = reference_outputs(config, inputs)
    sums = sums_in(expected, inputs)
    where, strangers, stalled = "the emulated card, in memory", 0, 0
    notes: list[str] = []
    wrong = False
    if args.rtl:
        from testbed.cli.cardrtl import play_rtl

        found, notes, wrong = play_rtl(args, config, inputs, expected)
        where = "the card's hardware, simulated"
    elif args.card is None:
        if args.interfaces:
            raise ScenarioError(
                "leads nowhere without a card", file="tb card golden", key="--port", allowed="with --card"
            )
        faults = [parse_fault(fault) for fault in args.faults]
        found = play(create_card(replace(config, program="fpga"), faults), inputs)
    else:
        if args.faults:
            raise ScenarioError(
                "a real card has its own", file="tb card golden", key="--fault", allowed="without --card"
            )
        where = args.card
        found, strangers, stalled = _through_ports(args, config, inputs, expected)
    if args.out is not None:
        _write_files(args.out, config, inputs, expected, found)
    difference = compare(expected, found)
    # What differs, differs; but a trace that makes no sum shows nothing about a card that sums.
    wrong = wrong or difference is not None
    verdict = Verdict.FAIL if wrong else Verdict.PASS if sums else Verdict.UNKNOWN
    lines = [
        f"{len(inputs)} frames into {where}",
        f"{len(expected)} frames expected, {sums} of them sums; {len(found)} came out",
    ]
    lines += notes
    if strangers:
        lines.append(f"{strangers} frames of others were left out")
    if stalled:
        lines.append(f"{stalled} times nothing came out in time")
    if difference is not None:
        lines += ["first difference:", *describe(difference, inputs)]
    elif not sums:
        lines.append("the trace makes no sum: nothing is shown about a card that sums")
    if args.json:
        document = {
            "verdict": str(verdict), "card": where, "inputs": len(inputs), "expected": len(expected), "sums": sums,
            "found": len(found), "strangers": strangers, "stalled": stalled, "notes": notes,
            "difference": None if difference is None else {
                "kind": str(difference.kind), "port": difference.port, "index": difference.index,
                "step": difference.step, "expected": difference.expected.hex(), "found": difference.found.hex(),
                "fields": [
                    {"name": field.name, "expected": field.expected, "found": field.found, "bits": field.bits}
                    for field in difference.fields
                ],
            },
        }  # fmt: skip
        print_document(json.dumps(document, indent=2))
    else:
        print("\n".join([*lines, f"Verdict: {str(verdict).upper()}"]))
    return verdict.exit_code


def _trace(args: argparse.Namespace) -> tuple[SwitchConfig, list[TimedFrame]]:
    path = Path(args.trace)
    if path.suffix not in (".pcap", ".pcapng"):
        from testbed.scenario import load_scenario
        from testbed.worlds.simulated.switch_trace import scenario_trace

        if args.config is not None:
            problem = "a scenario says how its switch is configured"
            raise ScenarioError(problem, file="tb card golden", key="--config", allowed="with a .pcap or .pcapng file")
        return scenario_trace(load_scenario(args.trace, args.overrides, args.seed, "simulated"))
    if args.config is None:
        raise ScenarioError("is missing", file="tb card golden", key="--config", allowed="the switch's configuration")
    from testbed.plan.nodeconfig import read_node_config

    config = read_node_config(args.config, SwitchConfig, {"program": "fpga", "ports": args.port_count or 64})
    if args.port_count is None:
        config = replace(config, ports=_ports_named(config))
    return config, read_trace(path, config)


def _ports_named(config: SwitchConfig) -> int:
    """One more than the largest port that a configuration names."""
    ports = [port for _, port in config.macs] + list(config.flood_ports or ())
    ports += [member.port for ring in config.rings for member in ring.members]
    ports += [port for ring in config.rings if isinstance(ring.links, LeafLinks) for port in ring.links.uplinks]
    return max(ports, default=0) + 1


def _through_ports(
    args: argparse.Namespace, config: SwitchConfig, inputs: Sequence[TimedFrame], expected: Sequence[Output]
) -> tuple[list[Output], int, int]:
    from switch_nodes.dataplane import open_io

    if len(args.interfaces) != config.ports:
        raise ScenarioError(
            "every data port needs an interface that leads to it", file="tb card golden", key="--port",
            found=str(len(args.interfaces)), allowed=str(config.ports),
        )  # fmt: skip
    driver = driver_at(args.card)
    driver.reset()  # what was in slots and tables before must not enter this trace
    driver.configure(replace(config, program="fpga", ports=driver.identity().ports))
    driver.start()
    try:
        io = open_io(args.interfaces, backpressure=False)
    except OSError as error:
        names = ", ".join(args.interfaces)
        raise HostCapabilityError(
            f"one of the interfaces {names} in this network namespace ({error.strerror or error})",
            "`ip link` shows those that are there",
        ) from error
    try:
        passage = play_through(
            io, inputs, expected, clock=time.monotonic_ns, timeout_ns=args.patience, settle_ns=args.settle
        )
    finally:
        io.close()
    return list(passage.outputs), passage.strangers, passage.stalled


def _write_files(
    folder: Path,
    config: SwitchConfig,
    inputs: Sequence[TimedFrame],
    expected: Sequence[Output],
    found: Sequence[Output],
) -> None:
    require_trusted(folder, key="--out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, frames in (("in", inputs), ("expected", expected), ("found", found)):
            write_trace(
                folder / f"{name}.pcapng", config.ports, frames, outgoing=frames is not inputs,
                when=lambda step: inputs[step].time_ns,
            )  # fmt: skip
        words = words_of(replace(config, program="fpga"))
        lines = (f"{address:#07x} {word:#010x} {REGISTERS.name_of(address)}\n" for address, word in words.items())
        (folder / "registers.txt").write_text("".join(lines), encoding="utf-8")
        if (text := config_text(config)) is not None:
            (folder / "switch.json").write_text(text, encoding="utf-8")
    except OSError as error:
        raise ScenarioError("cannot be written", file=str(folder), key="--out", found=str(error.strerror)) from error
