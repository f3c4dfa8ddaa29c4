"""The options for dilation and for the reference run: how slowly emulated time passes, and what the run is compared
with."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from testbed.cli.values import whole
from testbed.scenario.protocols.names import MOST_DILATION
from workloads.errors import ScenarioError

if TYPE_CHECKING:
    from testbed.scenario.model import Scenario

__all__ = ["AUTO", "add_dilation", "add_twin", "dilated", "parse_dilation"]

AUTO = "auto"


def add_dilation(parser: argparse.ArgumentParser, *, auto: bool = True) -> None:
    """`auto`: whether the factor can be left to the machine."""
    words = f"a whole number from 1 to {MOST_DILATION}" + (
        f", or {AUTO}: as many as this machine needs" if auto else ""
    )
    group = parser.add_mutually_exclusive_group()
    default = f"the scenario's; {AUTO if auto else 1} where it names none"
    group.add_argument(
        "--dilation", type=parse_dilation if auto else whole(1, MOST_DILATION), metavar="K|auto" if auto else "K",
        help=f"emulated world: real seconds that a second of it takes, {words} (default: {default}); docs/time.md",
    )  # fmt: skip
    group.add_argument(
        "--real-time", dest="dilation", action="store_const", const=1,
        help="emulated world: the same as --dilation 1; figures of a small machine may then be unknown",
    )  # fmt: skip


def add_twin(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-twin", dest="twin", action="store_false",
        help="emulated world: do not compare the figures with those of the same plan in virtual time",
    )  # fmt: skip


def parse_dilation(text: str) -> int | str:
    """Raises argparse.ArgumentTypeError."""
    return AUTO if text == AUTO else whole(1, MOST_DILATION, f"{AUTO}, or ")(text)


def dilated(scenario: Scenario, wish: int | str | None, command: str, *, card: int | None = None) -> Scenario:
    """The scenario with what `--dilation` asks for; None: it was not given. `card`: dilation of the lab whose card is
    the switch. Raises ScenarioError where time cannot be dilated."""
    from testbed.runs.attempts import with_dilation

    if wish is not None and scenario.world != "emulated":
        raise ScenarioError(
            "means nothing in this world", file=command, key="--dilation", allowed="with --world emulated"
        )
    if wish is not None:
        scenario = with_dilation(scenario, None if wish == AUTO else int(wish))
    elif card is not None and scenario.dilation is None:
        scenario = with_dilation(scenario, card)
    if card is not None and scenario.dilation != card:
        raise ScenarioError(
            "a card keeps its own time", file=command, key="--card", found=f"dilation {scenario.dilation or AUTO}",
            allowed=f"with dilation {card}",
        )  # fmt: skip
    return scenario
