"""`--card rtl`: the switches of a run or of a hunt in virtual time are the card in hardware, as with
`--set switch.program=rtl`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from switch_nodes.kinds import program_kinds, uses
from testbed.scenario.own_program import PROGRAM_KEY
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    from testbed.scenario.model import Scenario

__all__ = ["CardWord", "scenario_with_card", "with_hardware"]


class CardWord(StrEnum):
    """Values of `--card` in the simulated world; each is the name of a switch program."""

    HARDWARE = "rtl"


def with_hardware(overrides: Sequence[str], command: str) -> list[str]:
    """`overrides` of `--set`, with the hardware as the switch program. Raises ScenarioError where they name a program
    that no card runs."""
    programs = [name for name in program_kinds() if uses(name, "rings")]
    for text in overrides:
        key, _, value = text.partition("=")
        if key.strip() == PROGRAM_KEY and value.strip() not in programs:
            raise ScenarioError(
                "a card runs no such program", file=command, key="--card rtl", found=f"{PROGRAM_KEY}={value.strip()}",
                allowed=", ".join(programs),
            )  # fmt: skip
    return [*overrides, f"{PROGRAM_KEY}={CardWord.HARDWARE}"]


def scenario_with_card(scenario: Scenario, args: argparse.Namespace) -> Scenario:
    """Of `tb run`, as `--card` says. In the simulated world, the card is a switch program, and `args.card` then None.
    Raises ScenarioError for a card of another world."""
    from testbed.scenario import load_scenario

    def refuse(problem: str, allowed: str) -> ScenarioError:
        return ScenarioError(problem, file="tb run", key="--card", found=args.card, allowed=allowed)

    if scenario.world == "lab":
        raise refuse("means nothing in this world", "with --world emulated or simulated; a lab has its own card")
    if scenario.world == "emulated":
        if args.card == CardWord.HARDWARE:
            raise refuse(
                "is the card in hardware of the simulated world",
                "--world simulated; or `tb lab up --emulated --tunnels --card rtl`, then --card fpga0",
            )  # fmt: skip
        return scenario
    if args.card != CardWord.HARDWARE:
        raise refuse("is no card of this world", "rtl; or --world emulated, for a card of the lab")
    args.card = None
    return load_scenario(args.scenario, with_hardware(args.overrides, "tb run"), args.seed, args.world)
