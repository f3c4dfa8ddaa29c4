"""Randomised rounding (R-GRIA): from shares of a relaxed plan to one option per worker, and the repair that makes it
feasible.

Each worker draws its option with the shares of the relaxation as probabilities and keeps the rate of the bound. What
that overloads is divided down at the end. Before that, the repair climbs. It considers all moves of one or two workers,
and of all workers of one switch at once. The latter is needed to close a switch that many use. It takes the move with
the highest feasible rate, then the least total excess, until none is better. Single moves alone stop early: opening a
switch for one worker gains nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topologies.routing.gradients.choices import Assignment, Choices, Floats

__all__ = ["RateRounding", "Repaired"]

_BETTER = 1e-9
_CELLS = 1_000_000
"""most numbers (moves x places) that one step looks at; where all moves need more, a sample of those that take
something from the fullest place is tried"""
_LARGE = 20_000
"""options x places from which on the climb ends after some steps"""
_STEPS = 25
_CLOSABLE = 2
"""workers of a switch up to which moves of one or two close it anyway"""


@dataclass(frozen=True, slots=True)
class Repaired:
    drawn: Assignment
    drawn_bps: float
    """rate of the draw after scaling down alone"""
    feasible: bool
    """whether the draw needed no scaling"""
    violation: float
    """largest load over capacity of the draw, at the rate of the bound"""
    assignment: Assignment
    rate_bps: float
    steps: int


class RateRounding:
    """Draws and repairs. `shares`: by worker, a probability for each of its site's options. `bound_bps`: of the
    relaxation. `even`: workers of a site draw together, so that each option gets its share of them and not far more by
    chance."""

    def __init__(
        self,
        choices: Choices,
        shares: Sequence[Floats],
        bound_bps: float,
        rng: np.random.Generator,
        *,
        even: bool = False,
    ) -> None:
        self.choices, self.bound_bps, self._rng, self._even = choices, bound_bps, rng, even
        self._options = [np.array(choices.options[site]) for site in choices.site_of]
        self._sums = [np.cumsum(share / share.sum()) for share in shares]
        self.large = choices.use.size > _LARGE
        """so many options and places that a climb ends after some steps"""
        self._known: dict[Assignment, Repaired] = {}

    def draw(self) -> Assignment:
        points = self._spread() if self._even else self._rng.random(len(self._options))
        return tuple(
            int(options[min(int(np.searchsorted(sums, point, side="right")), len(options) - 1)])
            for options, sums, point in zip(self._options, self._sums, points, strict=True)
        )

    def _spread(self) -> Floats:
        """Evenly over each site, in a random order: every worker still has its shares as probabilities (systematic
        sampling)."""
        points = np.zeros(len(self._options))
        sites = np.array(self.choices.site_of)
        for site in range(len(self.choices.options)):
            (members,) = np.nonzero(sites == site)
            points[members] = (self._rng.permutation(len(members)) + self._rng.random()) / max(1, len(members))
        return points

    def repaired(self, drawn: Assignment) -> Repaired:
        if drawn not in self._known:
            self._known[drawn] = self._repair(drawn)
        return self._known[drawn]

    def best(self, draws: int) -> Repaired:
        """Of so many draws, each repaired."""
        return max((self.repaired(self.draw()) for _ in range(draws)), key=lambda found: found.rate_bps)

    def _repair(self, drawn: Assignment) -> Repaired:
        choices = self.choices
        violation = float(np.max(choices.loads(drawn) * self.bound_bps / choices.capacity_bps))
        now, score = drawn, self._score(choices.loads(drawn)[None, :])[0]
        steps = 0
        while score[0] < self.bound_bps * (1 - _BETTER) and not (self.large and steps >= _STEPS):
            found = self._best_move(now)
            if found is None or not _above(found[0], score):
                break
            score, now = found
            steps += 1
        rate = min(self.bound_bps, choices.rate_bps(now))
        return Repaired(
            drawn,
            min(self.bound_bps, choices.rate_bps(drawn)),
            violation <= 1 + _BETTER and self.bound_bps <= choices.most_bps * (1 + _BETTER),
            violation,
            now,
            rate,
            steps,
        )

    def _score(self, loads: Floats) -> list[tuple[float, float]]:
        """(feasible rate, minus total excess over capacity) by row."""
        ratio = np.max(loads / self.choices.capacity_bps, axis=1)
        rate = np.minimum(min(self.bound_bps, self.choices.most_bps), 1.0 / ratio)
        excess = np.maximum(0.0, loads * self.bound_bps - self.choices.capacity_bps).sum(axis=1)
        return list(zip(rate.tolist(), (-excess).tolist(), strict=True))

    def _best_move(self, now: Assignment) -> tuple[tuple[float, float], Assignment] | None:
        scored = [*self._small_moves(now), *self._closings(now)]
        return max(scored, key=lambda item: item[0], default=None)

    def _small_moves(self, now: Assignment) -> Iterator[tuple[tuple[float, float], Assignment]]:
        """The best of the moves of one worker or two."""
        choices = self.choices
        chosen = np.array(now)
        kinds, counts = np.unique(chosen, return_counts=True)
        site = {int(option): choices.site_of[worker] for worker, option in enumerate(now)}
        moves = np.array([(old, new) for old in kinds.tolist() for new in choices.options[site[old]] if new != old])
        if len(moves) * choices.use.shape[1] > _CELLS:
            moves = self._relieving(moves, choices.loads(now))
        if not len(moves):
            return
        first, second = self._pairs(moves, dict(zip(kinds.tolist(), counts.tolist(), strict=True)))
        delta = choices.use[moves[:, 1]] - choices.use[moves[:, 0]]
        members = np.eye(len(choices.opened) + 1)[choices.node][:, : len(choices.opened)]
        shift = members[moves[:, 1]] - members[moves[:, 0]]
        base, present = choices.use[chosen].sum(axis=0), members[chosen].sum(axis=0)
        # A move alone is a pair whose second half is the row of zeros at the end.
        delta, shift = np.vstack((delta, np.zeros_like(base))), np.vstack((shift, np.zeros_like(present)))
        loads = base + delta[first] + delta[second]
        loads += ((present + shift[first] + shift[second]) > 0.5) @ choices.opened
        scores = self._score(loads)
        best = max(range(len(scores)), key=scores.__getitem__)
        result = list(now)
        for half in (int(first[best]), int(second[best])):
            if half < len(moves):
                old, new = moves[half].tolist()
                result[result.index(old)] = new
        yield scores[best], tuple(result)

    def _relieving(self, moves: npt.NDArray[np.int64], loads: Floats) -> npt.NDArray[np.int64]:
        """A sample of the moves away from options that lie on the fullest place."""
        choices = self.choices
        full = int(np.argmax(loads / choices.capacity_bps))
        old = moves[:, 0]
        opens = np.append(choices.opened[:, full], 0.0)[choices.node[old]]
        found: npt.NDArray[np.int64] = moves[(choices.use[old, full] + opens) > 0]
        most = max(32, _CELLS // choices.use.shape[1] // 2)
        if len(found) > most:
            found = found[self._rng.choice(len(found), most, replace=False)]
        return found

    def _pairs(
        self, moves: npt.NDArray[np.int64], counts: dict[int, int]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Indices of moves; `len(moves)` for none."""
        number = len(moves)
        most = max(64, _CELLS // self.choices.use.shape[1] - number)
        if number * (number + 1) // 2 <= most:
            first, second = np.triu_indices(number)
        else:
            first, second = np.sort(self._rng.integers(number, size=(2, most)), axis=0)
        old = moves[:, 0]
        several = np.array([counts[option] > 1 for option in old.tolist()])
        # The second worker of an option must exist.
        good = (old[first] != old[second]) | several[first]
        singles = np.arange(number)
        return np.concatenate((singles, first[good])), np.concatenate((np.full(number, number), second[good]))

    def _closings(self, now: Assignment) -> Iterator[tuple[tuple[float, float], Assignment]]:
        """Each switch that many workers use, closed: they go, one after the other, where that overloads least."""
        choices = self.choices
        nodes = choices.node[np.array(now)]
        used, counts = np.unique(nodes[nodes >= 0], return_counts=True)
        for node in used[counts > _CLOSABLE].tolist():
            leaving = [worker for worker, place in enumerate(nodes.tolist()) if place == node]
            result = list(now)
            rest = [option for worker, option in enumerate(now) if nodes[worker] != node]
            open_now = {int(choices.node[option]) for option in rest} - {-1}
            loads = choices.use[rest].sum(axis=0) + choices.opened[sorted(open_now)].sum(axis=0)
            for worker in leaving:
                options = [o for o in choices.options[choices.site_of[worker]] if choices.node[o] in (*open_now, -1)]
                if not options:
                    break
                tried = loads + choices.use[options]
                best = int(np.argmin(np.max(tried / choices.capacity_bps, axis=1)))
                loads, result[worker] = tried[best], options[best]
            else:
                yield self._score(loads[None, :])[0], tuple(result)


def _above(one: tuple[float, float], other: tuple[float, float]) -> bool:
    scale = 1 + abs(other[0])
    if abs(one[0] - other[0]) > _BETTER * scale:
        return one[0] > other[0]
    return one[1] > other[1] + _BETTER * (1 + abs(other[1]))
