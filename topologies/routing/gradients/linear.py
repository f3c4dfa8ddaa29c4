"""Linear and mixed-integer programs, put together row by row and solved by HiGHS (scipy)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["LinearProgram", "NoSolution", "Solution"]

_LARGE = 5_000
"""variables from which interior points beat the simplex method: fabrics have very many equal optima"""

Terms = Iterable[tuple[int, float]]
"""(variable, coefficient)"""


class NoSolution(ValueError):
    """No point meets all rows, or the solver gave up; the text is HiGHS's own."""


@dataclass(frozen=True, slots=True)
class Solution:
    values: npt.NDArray[np.float64]
    """value by variable"""
    cost: float
    prices: npt.NDArray[np.float64]
    """price of each row: what one unit more on its right side would change in the cost (all zero for integer
    programs)"""
    proved: bool = True
    """False: the time limit ended an integer program at its best point so far"""


class LinearProgram:
    """Minimises the cost of its variables. All are at least 0."""

    def __init__(self) -> None:
        self._cost: list[float] = []
        self._most: list[float] = []
        self._whole: list[bool] = []
        self._rows: list[int] = []
        self._columns: list[int] = []
        self._data: list[float] = []
        self._low: list[float] = []
        self._high: list[float] = []

    def variable(self, cost: float = 0.0, most: float = np.inf, *, whole: bool = False) -> int:
        self._cost.append(cost)
        self._most.append(most)
        self._whole.append(whole)
        return len(self._cost) - 1

    def price(self, variable: int, cost: float) -> None:
        self._cost[variable] = cost

    def forget_costs(self) -> None:
        """For a second aim: all variables cost nothing until `price` says otherwise."""
        self._cost = [0.0] * len(self._cost)

    def equal(self, terms: Terms, value: float) -> int:
        return self._row(terms, value, value)

    def at_most(self, terms: Terms, value: float) -> int:
        return self._row(terms, -np.inf, value)

    def at_least(self, terms: Terms, value: float) -> int:
        return self._row([(variable, -factor) for variable, factor in terms], -np.inf, -value)

    def _row(self, terms: Terms, low: float, high: float) -> int:
        row = len(self._high)
        for variable, factor in terms:
            self._rows.append(row)
            self._columns.append(variable)
            self._data.append(factor)
        self._low.append(low)
        self._high.append(high)
        return row

    def solve(self, *, time_limit_s: float | None = None, gap: float = 0.0, interior: bool = False) -> Solution:
        """Raises NoSolution. `time_limit_s` and `gap` (relative) are for integer programs; `interior`: by interior
        points, however small a linear one is."""
        # Only who plans routes waits for scipy, and has it in memory: each command has a plan's types loaded.
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, csr_array

        shape = (len(self._high), len(self._cost))
        matrix = csr_array(coo_array((self._data, (self._rows, self._columns)), shape=shape))
        if any(self._whole):
            return self._solve_whole(matrix, time_limit_s, gap)
        low, high = np.array(self._low), np.array(self._high)
        fixed = low == high
        result = linprog(
            self._cost,
            A_ub=matrix[~fixed],
            b_ub=high[~fixed],
            A_eq=matrix[fixed],
            b_eq=high[fixed],
            bounds=np.column_stack((np.zeros(shape[1]), np.array(self._most))),
            method="highs-ipm" if interior or shape[1] > _LARGE else "highs",
        )
        if result.x is None:
            raise NoSolution(result.message)
        prices = np.zeros(shape[0])
        prices[~fixed], prices[fixed] = result.ineqlin.marginals, result.eqlin.marginals
        return Solution(result.x, float(result.fun), prices)

    def _solve_whole(self, matrix: csr_array, time_limit_s: float | None, gap: float) -> Solution:
        from scipy.optimize import Bounds, LinearConstraint, milp

        options: dict[str, float] = {"mip_rel_gap": gap}
        if time_limit_s is not None:
            options["time_limit"] = time_limit_s
        result = milp(
            self._cost,
            integrality=np.array(self._whole, dtype=int),
            bounds=Bounds(np.zeros(len(self._cost)), np.array(self._most)),
            constraints=LinearConstraint(matrix, np.array(self._low), np.array(self._high)),
            options=options,
        )
        if result.x is None:
            raise NoSolution(result.message)
        return Solution(result.x, float(result.fun), np.zeros(matrix.shape[0]), result.status == 0)
