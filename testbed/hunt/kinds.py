"""The kinds of hunts that protocols derive theirs from: in datagrams, and in schedules of transfers between pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from testbed.checkers import CheckContext
from testbed.hunt.contract import Hunt, Hunted
from testbed.hunt.coverage import values_of_connections, values_of_jobs
from testbed.hunt.draw_datagrams import draw_datagram_schedule
from testbed.hunt.draw_pairs import draw_pairs_schedule, smaller_pairs
from testbed.hunt.schedule import Survival
from testbed.hunt.shrink_datagrams import smaller_datagrams
from testbed.hunt.slot_rules import broken_rules_of_slots
from testbed.hunt.survival import SURVIVAL as CONNECTIONS_SURVIVE
from testbed.hunt.survival_datagrams import SURVIVAL as DATAGRAMS_SURVIVE
from testbed.scenario.model import Scenario

__all__ = ["PAIRS_HUNT", "DatagramHunt", "PairsHunt"]


class DatagramHunt(Hunt):
    """Of a protocol of datagrams whose workers send again for ever."""

    def draw(
        self, dice: Random, hunted: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
    ) -> Scenario:
        return draw_datagram_schedule(dice, hunted, base, program, traced=traced, seed=seed)

    def survival(self) -> Survival:
        return DATAGRAMS_SURVIVE

    def broken_rules(self, context: CheckContext) -> Iterator[tuple[str, str]]:
        return broken_rules_of_slots(context)

    def values(self, scenario: Scenario, hunted: Hunted) -> dict[str, object]:
        return values_of_jobs(scenario, hunted)

    def smaller(self, scenario: Scenario, hunted: Hunted) -> Iterator[Scenario]:
        return smaller_datagrams(scenario, hunted)


@dataclass(frozen=True, eq=False)
class PairsHunt(Hunt):
    """Of a schedule of transfers between pairs of ranks, over RC connections. No switch has slots."""

    watches_slots: bool = False

    def draw(
        self, dice: Random, hunted: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
    ) -> Scenario:
        return draw_pairs_schedule(dice, hunted, base, program, traced=traced, seed=seed)

    def survival(self) -> Survival:
        return CONNECTIONS_SURVIVE

    def broken_rules(self, context: CheckContext) -> Iterator[tuple[str, str]]:
        yield from ()

    def values(self, scenario: Scenario, hunted: Hunted) -> dict[str, object]:
        return values_of_connections(scenario)

    def smaller(self, scenario: Scenario, hunted: Hunted) -> Iterator[Scenario]:
        return smaller_pairs(scenario, hunted)


PAIRS_HUNT = PairsHunt({"float32": 60, "int32": 40})
"""of a schedule without keys of its own"""
