"""Hunts in Rabenseifner's all-reduce: that of all schedules of transfers, with partners drawn in addition."""

from __future__ import annotations

from random import Random

from testbed.hunt.kinds import PAIRS_HUNT, PairsHunt
from testbed.protocols.rabenseifner.keys import RabenseifnerKeys

__all__ = ["HUNT"]


class _RabenseifnerHunt(PairsHunt):
    def draw_keys(self, dice: Random) -> RabenseifnerKeys:
        return RabenseifnerKeys(dice.choice(("near", "far")))


HUNT = _RabenseifnerHunt(PAIRS_HUNT.dtypes)
