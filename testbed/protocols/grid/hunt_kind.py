"""The hunt in GRID: how schedules are drawn, judged and made smaller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from switch_nodes.grid.tables import slot_table
from switch_nodes.routes.layout import COLLISIONS
from testbed.checkers import CheckContext
from testbed.hunt.contract import Hunt, Hunted
from testbed.hunt.coverage import values_of_plans
from testbed.hunt.schedule import Survival
from testbed.protocols.grid.hunt import draw_grid_schedule
from testbed.protocols.grid.hunt_rules import broken_grid_rules
from testbed.protocols.grid.hunt_smaller import smaller_grid
from testbed.protocols.grid.hunt_survival import SURVIVAL
from testbed.protocols.parts.hunt_server_steps import NO_REMINDER, ONE_SIZE, OVERRUN, SERVER_STEPS, never_in_blocks
from testbed.scenario.model import Scenario
from workloads.automaton import step_names

__all__ = ["HUNT"]

_NO_COPY = "no switch of GRID makes a result, and a worker gives its own away as a sum of all"


@dataclass(frozen=True, eq=False)
class _GridHunt(Hunt):
    watches_slots: bool = False

    def draw(
        self, dice: Random, hunted: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
    ) -> Scenario:
        return draw_grid_schedule(dice, hunted, base, program, traced=traced, seed=seed)

    def survival(self) -> Survival:
        return SURVIVAL

    def broken_rules(self, context: CheckContext) -> Iterator[tuple[str, str]]:
        return broken_grid_rules(context)

    def values(self, scenario: Scenario, hunted: Hunted) -> dict[str, object]:
        return values_of_plans(scenario, hunted)

    def smaller(self, scenario: Scenario, hunted: Hunted) -> Iterator[Scenario]:
        return smaller_grid(scenario, hunted)


HUNT = _GridHunt(
    {"float32": 34, "int32": 54, "int32sat": 12},
    (*step_names("slot", (pair for how in COLLISIONS for pair in slot_table(how))), *SERVER_STEPS),
    {
        "slot filling/mismatch": ONE_SIZE,
        "block open/mismatch": ONE_SIZE,
        "block unknown/overrun": OVERRUN,
        **never_in_blocks("copy", _NO_COPY),
        **never_in_blocks("nothing_there", NO_REMINDER),
    },
)
