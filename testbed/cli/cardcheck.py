"""`tb card check --rtl`: a design in Verilog against the scenarios that every card must pass."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from switch_nodes.fpga.driver import CardDriver, CardIdentity
from switch_nodes.fpga.errors import CardError
from switch_nodes.fpga.golden import compare, describe, reference_outputs, sums_in
from switch_nodes.fpga.rtl.simulation.library import SimulatedCard
from switch_nodes.fpga.rtl.simulation.playing import play_simulated, refuse_unfit
from switch_nodes.fpga.transport import StepClock
from testbed.cli.cardrtl import faults_of, foreign_card
from testbed.history.verdict import Verdict
from testbed.lab.cards.mutation import mutated
from testbed.scenario import load_scenario
from testbed.terminal.standard import print_document
from testbed.terminal.stream import complain, say
from testbed.worlds.simulated.switch_trace import scenario_trace
from workloads.errors import ScenarioError

__all__ = ["SCENARIOS", "check_design"]

SCENARIOS = (
    "rack", "rack-lossy", "result-lost", "data-first-lost", "stale-duplicate", "reorder", "corruption", "ecn-marked",
    "psn-wrap",
)  # fmt: skip
"""docs/bring-your-own-fpga.md: these must pass"""
_SMALL = ("job.size=200kB",)
_MUTATED = 3
"""traces with changed frames, of the scenario with most losses"""
_LOSSY = "rack-lossy"
_DTYPES = ("float32", "int32")


@dataclass(frozen=True, slots=True)
class _Case:
    scenario: str
    dtype: str
    mutate: int | None
    pressure: int
    """seed of gaps and back-pressure"""


@dataclass(frozen=True, slots=True)
class _Outcome:
    case: _Case
    frames: int
    sums: int
    problems: tuple[str, ...]


def check_design(args: argparse.Namespace) -> int:
    """`args`: those of `tb card check`. The first refuted case ends it. Raises ScenarioError, HostCapabilityError; and
    CardError for what does not answer as a card."""
    if args.rtl is None or args.pin_map is None:
        raise ScenarioError("need each other", file="tb card check", key="--rtl, --map", allowed="both or none")
    if args.card is not None:
        raise ScenarioError("is another card", file="tb card check", key="--card", allowed="without --rtl")
    _, library = foreign_card(args.rtl, args.pin_map)
    identity = _identity(library)
    dtypes = [dtype for dtype in _DTYPES if ("sum", dtype) in identity.operations]
    if not dtypes:
        operations = ", ".join(f"{op} of {dtype}" for op, dtype in identity.operations)
        raise ScenarioError(
            "the card sums neither float32 nor int32", file=str(args.rtl), key="OPERATIONS", found=operations or "none"
        )
    outcomes = []
    for case in _cases(dtypes):
        outcome = _outcome(library, case, args.overrides)
        outcomes.append(outcome)
        if not args.json:
            mutated_by = "" if case.mutate is None else f", frames changed by seed {case.mutate}"
            what = f"{case.scenario}, {case.dtype}{mutated_by}"
            say(f"{'pass' if not outcome.problems else 'FAIL'}  {what}: {outcome.frames} frames, {outcome.sums} sums")
            for line in outcome.problems:
                say(f"      {line}")
        if outcome.problems:
            break
    refuted = bool(outcomes[-1].problems)
    verdict = Verdict.FAIL if refuted else Verdict.PASS if any(item.sums for item in outcomes) else Verdict.UNKNOWN
    if args.json:
        print_document(json.dumps({
            "verdict": str(verdict), "serial": identity.serial, "operations": identity.operations,
            "cases": [asdict(outcome) for outcome in outcomes],
        }, indent=2))  # fmt: skip
    else:
        say(f"Verdict: {str(verdict).upper()}")
    if refuted:
        complain("tb card: the cases behind the first that failed were not tried")
    return verdict.exit_code


def _identity(library: Path) -> CardIdentity:
    """Raises CardError for what is no card."""
    clock, card = StepClock(), SimulatedCard(library, bitstream_hash=bytes(range(32)))
    try:
        return CardDriver(card, card="the design", clock=clock, sleep=clock.sleep).identity()
    finally:
        card.close()


def _cases(dtypes: Sequence[str]) -> Iterator[_Case]:
    """All scenarios in the first arithmetic; losses in the others, too."""
    for number, scenario in enumerate(SCENARIOS):
        yield _Case(scenario, dtypes[0], None, number)
    for number, dtype in enumerate(dtypes[1:]):
        yield _Case(_LOSSY, dtype, None, number + 1)
    for seed in range(1, _MUTATED + 1):
        yield _Case(_LOSSY, dtypes[seed % len(dtypes)], seed, seed)


def _outcome(library: Path, case: _Case, overrides: Sequence[str]) -> _Outcome:
    sets = [*_SMALL, f"job.dtype={case.dtype}", *overrides]
    config, inputs = scenario_trace(load_scenario(case.scenario, sets, world="simulated"))
    refuse_unfit(config)
    if case.mutate is not None:
        inputs = mutated(inputs, config.ports, case.mutate)
    expected = reference_outputs(config, inputs)
    sums = sums_in(expected, inputs)
    try:
        passage = play_simulated(library, config, inputs, seed=case.pressure)
    except CardError as error:
        return _Outcome(case, len(inputs), sums, (str(error),))
    problems = faults_of(passage, config, inputs)
    difference = compare(expected, passage.outputs)
    if difference is not None:
        problems += ["first difference:", *describe(difference, inputs)]
    return _Outcome(case, len(inputs), sums, tuple(problems))
