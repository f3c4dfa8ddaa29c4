"""Does the card's hardware do every built-in scenario that the emulated card can do? Each goes through `tb card golden
--rtl`: frame by frame against the reference, under gaps and back-pressure, with the scenario's own size.

    python -m benchmarks.card_scenarios [SCENARIO ...] [--width 512] [--dtype int32] [--rows ROWS.jsonl]

Short traces come first. A case that ROWS already has, with this design, is omitted: so a run that ended early goes on.
Prints a row for each case, and exits 1 if one fails. `no sum`: all frames are right, and none of them is a sum. A run
of all cases takes an hour."""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.golden import Output, TimedFrame, compare, describe, reference_outputs, sums_in
from switch_nodes.fpga.rtl.simulation.building import built_library
from switch_nodes.fpga.rtl.simulation.playing import (
    Passage,
    parameters_for,
    play_simulated,
    reference_counters,
    refuse_unfit,
)
from testbed.plan import make_plan
from testbed.scenario import builtin_names, load_scenario
from testbed.worlds.simulated.switch_trace import scenario_trace
from workloads.errors import ScenarioError

__all__ = ["Case", "Row", "fits", "main", "played", "pressure_of", "problems_of"]

_WIDTHS, _DTYPES = (64, 512), ("float32", "int32")
_PRESSURES = 3
"""seeds 1, 2, 3 have gaps and stalls; 0 has none"""


@dataclass(frozen=True, slots=True)
class Case:
    """One trace through one card."""

    scenario: str
    width: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Row:
    """What a case gave."""

    scenario: str
    width: int
    dtype: str
    design: str
    """hash of the simulated design"""
    verdict: str
    """pass, fail, or `no sum`: every frame is right, and none of them is a sum"""
    frames: int
    sums: int
    cycles: int
    seconds: float
    """CPU time of the card alone"""
    problems: tuple[str, ...] = ()


def fits(name: str) -> bool:
    """Whether the emulated card can do this scenario, and no other switch sums with it."""
    try:
        scenario = load_scenario(name, ("switch.program=fpga",), None, "simulated")
        switches = [switch for switch in make_plan(scenario).switches if switch.rings]
        for switch in switches:
            refuse_unfit(switch)
    except ScenarioError:
        return False
    return len(switches) == 1


def pressure_of(name: str) -> int:
    """Seed of gaps and back-pressure; never the one without."""
    return 1 + sum(name.encode()) % _PRESSURES


def problems_of(
    passage: Passage, expected: Sequence[Output], config: SwitchConfig, inputs: Sequence[TimedFrame]
) -> tuple[str, ...]:
    """What is wrong with the card, as lines for people; empty: nothing. `expected`: of the reference."""
    difference = compare(expected, passage.outputs)
    found = [] if difference is None else describe(difference, inputs)
    wanted = reference_counters(config, inputs)
    found = [*found, *(
        f"counter {name}: expected {wanted[name]}, found {count}"
        for name, count in passage.counters.items() if count != wanted[name]
    )]  # fmt: skip
    if passage.wrong_beats:
        found.append(f"{passage.wrong_beats} beats break a rule of AXI4-Stream")
    if passage.stuck:
        found.append("the card did not become idle")
    return tuple(found)


def played(case: Case, config: SwitchConfig, inputs: Sequence[TimedFrame]) -> Row:
    """Raises as `built_library` and `play_simulated`."""
    library = built_library(parameters_for(config, case.width), tell=lambda line: print(line, file=sys.stderr))
    begin = _cpu_seconds()
    passage = play_simulated(library, config, inputs, seed=pressure_of(case.scenario))
    seconds = _cpu_seconds() - begin
    expected = reference_outputs(config, inputs)
    problems = problems_of(passage, expected, config, inputs)
    sums = sums_in(expected, inputs)
    verdict = "fail" if problems else "pass" if sums else "no sum"
    return Row(
        case.scenario, case.width, case.dtype, library.stem, verdict, len(inputs), sums, passage.total_cycles,
        round(seconds, 1), problems,
    )  # fmt: skip


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _trace(case: Case) -> tuple[SwitchConfig, list[TimedFrame]]:
    return scenario_trace(load_scenario(case.scenario, (f"job.dtype={case.dtype}",), None, "simulated"))


def _kept(path: Path | None) -> list[Row]:
    if path is None or not path.exists():
        return []
    return [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _table(rows: Sequence[Row]) -> None:
    for width in sorted({row.width for row in rows}):
        of_width = [row for row in rows if row.width == width]
        cycles, seconds = sum(row.cycles for row in of_width), sum(row.seconds for row in of_width)
        passed = sum(not row.problems for row in of_width)
        right = f"{passed} of {len(of_width)} as the reference"
        print(f"{width} bits: {right}; {cycles:,} cycles in {seconds:,.0f} s of CPU time")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="of all that a card can do, these")
    parser.add_argument("--width", type=int, action="append", choices=_WIDTHS, help="bits of a data port (both)")
    parser.add_argument("--dtype", action="append", choices=(*_DTYPES, "int32sat"), help="float32 and int32")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="keep rows in this file, and omit those that it has")
    args = parser.parse_args(words)
    names = args.scenarios or [name for name in builtin_names() if fits(name)]
    traces = sorted(
        (sum(len(item.frame) for item in _trace(Case(name, 0, dtype))[1]), name, dtype)
        for name in names for dtype in args.dtype or _DTYPES
    )  # fmt: skip
    kept = {(row.scenario, row.width, row.dtype, row.design): row for row in _kept(args.rows)}
    rows = []
    print(f"{'scenario':28} bits  dtype    verdict  frames    sums         cycles  seconds")
    for width in args.width or _WIDTHS:
        for _, name, dtype in traces:
            case = Case(name, width, dtype)
            config, inputs = _trace(case)
            design = built_library(parameters_for(config, width)).stem
            row = kept.get((name, width, dtype, design))
            if row is None:
                row = played(case, config, inputs)
                if args.rows is not None:
                    with args.rows.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(row)) + "\n")
            rows.append(row)
            print(
                f"{name:28} {width:4}  {dtype:8} {row.verdict:7} {row.frames:7,} {row.sums:7,} {row.cycles:14,} "
                f"{row.seconds:8.1f}", flush=True,
            )  # fmt: skip
            for problem in row.problems[:8]:
                print(f"    {problem}")
    _table(rows)
    return 1 if any(row.problems for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
