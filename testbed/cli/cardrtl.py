"""`tb card golden --rtl`: a golden trace through the card's hardware, simulated in this process."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.golden import Difference, Output, TimedFrame, compare
from switch_nodes.fpga.rtl.parameters import RtlParameters
from switch_nodes.fpga.rtl.simulation.building import TranslationFailed, built_library
from switch_nodes.fpga.rtl.simulation.playing import (
    Passage,
    parameters_for,
    play_simulated,
    reference_counters,
    refuse_unfit,
)
from testbed.lab.cards.wrapping import read_pin_map, wrapped
from testbed.terminal.stream import complain
from workloads.errors import ScenarioError
from workloads.trusted import require_trusted

__all__ = ["faults_of", "foreign_card", "play_rtl"]

_VCD = "difference.vcd"


def play_rtl(
    args: argparse.Namespace, config: SwitchConfig, inputs: Sequence[TimedFrame], expected: Sequence[Output]
) -> tuple[list[Output], list[str], bool]:
    """(what came out, lines for people, whether the hardware is wrong whatever came out). Raises ScenarioError,
    CardError, HostCapabilityError."""
    if args.card is not None or args.faults or args.interfaces:
        raise ScenarioError(
            "plays through a simulation in memory", file="tb card golden", key="--rtl",
            allowed="without --card, --port and --fault",
        )  # fmt: skip
    refuse_unfit(config)
    if (args.verilog is None) != (args.pin_map is None):
        raise ScenarioError("need each other", file="tb card golden", key="--verilog, --map", allowed="both or none")
    if args.verilog is not None:
        parameters, library = foreign_card(args.verilog, args.pin_map)
    else:
        parameters = parameters_for(config, args.width)
        library = built_library(parameters, tell=_tell)
    passage = play_simulated(library, config, inputs, seed=args.pressure)
    outputs, wrong = list(passage.outputs), faults_of(passage, config, inputs)
    notes = [*_figures(parameters, passage, len(inputs)), *wrong]
    difference = compare(expected, outputs)
    path = args.vcd or (args.out / _VCD if args.out is not None else None)
    if difference is not None and path is not None:
        require_trusted(path.parent, key="--vcd")
        path.parent.mkdir(parents=True, exist_ok=True)
        cycle = _cycle_of(difference, passage)
        play_simulated(library, config, inputs, seed=args.pressure, waveform=(path, cycle))
        notes.append(f"waveform around cycle {cycle}: {path}")
    return outputs, notes, bool(wrong)


def foreign_card(verilog: Path, pin_map: Path) -> tuple[RtlParameters, Path]:
    """(sizes, simulation) of a design that is not ours. Raises ScenarioError for one that cannot be translated,
    HostCapabilityError where a tool is missing."""
    pins = read_pin_map(pin_map)
    try:
        return pins.parameters, built_library(pins.parameters, wrapped(pins, _text_of(verilog)), tell=_tell)
    except TranslationFailed as error:
        raise ScenarioError(
            "cannot be translated", file=str(verilog), key="--verilog", found=error.missing,
            allowed="Verilog with the module and pins of --map",
        ) from error  # fmt: skip


def faults_of(passage: Passage, config: SwitchConfig, inputs: Sequence[TimedFrame]) -> list[str]:
    """What is wrong with a card besides the frames that came out of it, a line for each."""
    found = []
    if passage.stuck:
        found.append("the card did not become idle: frames are stuck in it")
    if passage.wrong_beats:
        found.append(f"{passage.wrong_beats} beats break a rule of AXI4-Stream")
    wanted = reference_counters(config, inputs)
    wrong = {name: count for name, count in passage.counters.items() if count != wanted.get(name, count)}
    return found + [f"counter {name}: expected {wanted[name]}, found {count}" for name, count in wrong.items()]


def _tell(line: str) -> None:
    complain(f"tb card: {line}")


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no UTF-8"
        raise ScenarioError("cannot be read", file=str(path), key="--verilog", found=str(reason)) from error


def _figures(parameters: RtlParameters, passage: Passage, frames: int) -> list[str]:
    each = passage.total_cycles / max(frames, 1)
    return [
        f"{passage.total_cycles:,} cycles, {each:.0f} per frame, {parameters.width} bits wide",
    ]


def _cycle_of(difference: Difference, passage: Passage) -> int:
    """When the frame that differs left; of a missing one, when the next one left."""
    of_port = [
        cycle for output, cycle in zip(passage.outputs, passage.cycles, strict=True) if output.port == difference.port
    ]
    later = of_port[difference.index :] or list(passage.cycles[-1:])
    return later[0] if later else 0
