"""`--card rtl`: the switches of a run or of a hunt in virtual time are the card in hardware, as with
`--set switch.program=rtl`."""

from __future__ import annotations

from collections.abc import Sequence

from switch_nodes.kinds import program_kinds, uses
from testbed.scenario.own_program import PROGRAM_KEY
from workloads.errors import ScenarioError

__all__ = ["HARDWARE", "with_hardware"]

HARDWARE = "rtl"
"""name of the card, and of its switch program"""


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
    return [*overrides, f"{PROGRAM_KEY}={HARDWARE}"]
