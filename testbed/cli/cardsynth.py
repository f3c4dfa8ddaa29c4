"""`tb card synth` and `tb card verilog`: the card's hardware for tools that make chips.

Each figure is marked. `measured`: a tool or a simulation found it. `estimated`: computed from such figures and a stated
clock. `unknown`: nothing here finds it.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from switch_nodes.fpga.rtl.parameters import LARGE, SIMULATED, SMALL, RtlParameters
from testbed.terminal.standard import print_document
from testbed.terminal.stream import complain, say
from workloads.trusted import require_trusted, write_named
from workloads.wire.packet import EMPTY_FRAME_BYTES

__all__ = ["SIZES", "run_synth", "run_verilog", "share_of_ecp5"]

SIZES: dict[str, RtlParameters] = {"small": SMALL, "simulated": SIMULATED, "large": LARGE}
_TABLE = ("small", "large")
_MOST_HOSTS, _PACKETS, _WINDOW = 4, 100, 2
_AROUND = EMPTY_FRAME_BYTES + 4
"""bytes of a full frame around its payload: Ethernet, IPv4, UDP, BTH, iCRC, FCS"""
_FAMILY_OF_CLOCKS = "ecp5"
_ECP5_85: Mapping[str, int] = {"LUT": 83_640, "FF": 83_640, "BRAM": 208, "DSP": 156}
"""what an LFE5-85 has (Lattice, ECP5 family data sheet FPGA-DS-02012)"""
_LUTS_OF = {"LUT": 1, "carry": 2, "LUT RAM": 6}
"""LUTs that one cell takes: a CCU2C two; a TRELLIS_DPR16X4 four, and two for its write port"""
_Found = TypeVar("_Found")
MEASURED, ESTIMATED, UNKNOWN = "measured", "estimated", "unknown"


@dataclass(frozen=True, slots=True)
class _Figure:
    name: str
    value: float | int | None
    mark: str

    @property
    def text(self) -> str:
        if self.value is None:
            return self.mark
        shown = f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:,.1f}"
        return f"{shown} {self.mark}"


def run_verilog(args: argparse.Namespace) -> int:
    """Raises HostCapabilityError without Amaranth, ScenarioError where the file cannot be written."""
    from switch_nodes.fpga.rtl.simulation.building import card_verilog

    text = card_verilog(SIZES[args.size], axi=args.bus == "axi4-lite")
    write_named(args.out, text.encode(), key="--out")
    say(f"{args.out}: module ina_card, {len(text.splitlines()):,} lines")
    return 0


def run_synth(args: argparse.Namespace) -> int:
    """Raises HostCapabilityError where a tool is missing or fails. Figures are unknown if a tool takes too long."""
    from switch_nodes.fpga.rtl.simulation.synthesis import FAMILIES, scratch

    families = [name for name in FAMILIES if name in (args.families or FAMILIES)]
    tables: list[tuple[str, dict[str, list[_Figure]]]] = []
    with scratch() as name:
        for size in args.sizes or _TABLE:
            folder = (Path(name) if args.out is None else args.out) / size
            if args.out is not None:
                require_trusted(folder, key="--out")
            folder.mkdir(parents=True, exist_ok=True)
            cycles = measured_cycles(SIZES[size]) if args.cycles else None
            found = {}
            for family in families:
                found[family] = list(_figures(size, family, folder, cycles, args))
            tables.append((size, found))
            if not args.json:
                _print_table(size, found)
    if args.json:
        print_document(json.dumps([
            {"size": size, "parameters": asdict(SIZES[size]),
             "families": {family: [asdict(figure) for figure in figures] for family, figures in found.items()}}
            for size, found in tables
        ], indent=2))  # fmt: skip
    return 0


def _figures(size: str, family: str, folder: Path, cycles: float | None, args: argparse.Namespace) -> Iterator[_Figure]:
    from switch_nodes.fpga.rtl.simulation.synthesis import FAMILIES, Clock, Size, measured_clock, measured_size

    p = SIZES[size]
    seconds = 60 * args.minutes
    made: Size | None = _tried(
        f"size {size}, family {family}: synthesis", lambda: measured_size(p, family, folder, seconds=seconds)
    )
    for kind in FAMILIES[family][1]:
        yield _measured(kind, None if made is None else made.resources[kind])
    yield _measured("depth", None if made is None else made.depth)
    if family == _FAMILY_OF_CLOCKS:
        yield _measured("% of an ECP5-85", None if made is None else share_of_ecp5(made.resources))
    placed: Clock | None = None
    # The large size has more memory than any ECP5.
    if args.clock and family == _FAMILY_OF_CLOCKS and size == "small" and made is not None:
        placed = _tried(
            f"size {size}, family {family}: place and route", lambda: measured_clock(folder, seconds=seconds)
        )
    mhz = None if placed is None else placed.mhz
    yield _measured("MHz", mhz)
    yield _measured("cycles per packet", cycles)
    if mhz is not None and cycles is not None:
        yield _Figure("Gb/s at that clock", _gbps(p, mhz, cycles), MEASURED)
    rate = None if cycles is None else _gbps(p, args.at, cycles)
    yield _Figure(f"Gb/s at {args.at} MHz", rate, UNKNOWN if rate is None else ESTIMATED)


def _measured(name: str, value: float | int | None) -> _Figure:
    return _Figure(name, value, UNKNOWN if value is None else MEASURED)


def _tried(what: str, find: Callable[[], _Found]) -> _Found | None:
    """What was found; None: out of time. Prints how long it took."""
    from switch_nodes.fpga.rtl.simulation.synthesis import OutOfTime

    complain(f"tb card: {what}")
    began = _Spent()
    try:
        found = find()
    except OutOfTime as error:
        complain(f"tb card: {what}: its figures are unknown. {error}")
        return None
    complain(f"tb card: {what} took {began}")
    return found


class _Spent:
    """Since it was made: real time, and CPU time of the tools; memory: the most that one of them ever had."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), self._children()

    @staticmethod
    def _children() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def __str__(self) -> str:
        wall, cpu = time.monotonic() - self._wall, self._children() - self._cpu
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        return f"{wall:,.0f} s, {cpu:,.0f} s of CPU time, at most {most:,.0f} MB"


def share_of_ecp5(resources: Mapping[str, int]) -> float:
    """Percent of an ECP5-85 that a design takes, of what it takes most of; over 100: it does not fit."""
    luts = sum(weight * resources.get(kind, 0) for kind, weight in _LUTS_OF.items())
    return 100 * max({**resources, "LUT": luts}.get(kind, 0) / count for kind, count in _ECP5_85.items())


def _gbps(p: RtlParameters, mhz: float, cycles: float) -> float:
    """Of all ports together, in full frames."""
    return 8 * (p.mtu + _AROUND) * mhz / cycles / 1e3


def measured_cycles(p: RtlParameters) -> float:
    """Clock cycles per packet of data, its acknowledgements included: a rack without gaps, back-pressure and losses.
    Raises HostCapabilityError without a simulator."""
    from switch_nodes.fpga.rtl.simulation.building import built_library
    from switch_nodes.fpga.rtl.simulation.playing import play_simulated
    from testbed.scenario import load_scenario
    from testbed.worlds.simulated.switch_trace import scenario_trace

    sets = [
        f"topology.hosts={min(_MOST_HOSTS, p.ports, p.members)}", f"transport.path_mtu={p.mtu}",
        f"job.dtype={'float32' if p.floats else 'int32'}", f"job.size={_PACKETS * p.mtu}B",
        f"job.window_messages={_WINDOW}", f"job.message_packets={min(_PACKETS, p.slots // (2 * _WINDOW))}",
    ]  # fmt: skip
    config, inputs = scenario_trace(load_scenario("rack", sets, world="simulated"))
    library = built_library(p, tell=lambda line: complain(f"tb card: {line}"))
    passage = play_simulated(library, config, inputs, seed=0)
    return passage.total_cycles / passage.counters["data_in"]


def _print_table(size: str, found: dict[str, list[_Figure]]) -> None:
    p = SIZES[size]
    say(f"size {size}: {p.ports} ports of {p.width} bits, {p.slots} slots, {p.members} members, MTU {p.mtu}")
    names = dict.fromkeys(figure.name for figures in found.values() for figure in figures)
    say(f"  {'':<20}" + "".join(f"{family:>18}" for family in found))
    for name in names:
        cells = []
        for figures in found.values():
            text = next((figure.text for figure in figures if figure.name == name), "-")
            cells.append(f"{text:>18}")
        say(f"  {name:<20}" + "".join(cells))
