"""How many results of a sweep are there, for the ticker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.terminal.activity import State

if TYPE_CHECKING:
    from testbed.sweeps.forecast import Forecast

__all__ = ["CliProgress"]


class CliProgress:
    def __init__(self, forecast: Forecast | None = None) -> None:
        self._done, self._total, self._forecast = 0, 0, forecast

    def __call__(self, done: int, total: int, reused: int) -> None:
        self._done, self._total = done, total

    def state(self) -> State:
        if not self._total:
            return State("preparing")
        left_s = None if self._forecast is None else self._forecast.left_s
        return State(f"{self._done:,} of {self._total:,} results", self._done / self._total, left_s)
