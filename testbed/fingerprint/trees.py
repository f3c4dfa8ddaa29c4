"""Orders of addition as trees: built from what was measured, named, and written as sums.

A tree is a rank, or a tuple of trees that are added at once; two of them in an ordinary addition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from testbed.fingerprint.reducer import Array

__all__ = ["NoTree", "Orders", "Tree", "in_line", "leaves", "line_of", "name_of", "tree_of_sizes", "written"]

_ROUND = {1: "upwards", -1: "downwards"}
Tree: TypeAlias = "int | tuple[Tree, ...]"


class NoTree(Exception):
    """No order of additions gives these sizes."""


def leaves(tree: Tree) -> list[int]:
    """The ranks below."""
    return [tree] if isinstance(tree, int) else [rank for child in tree for rank in leaves(child)]


def tree_of_sizes(sizes: Array) -> Tree:
    """`sizes[i, j]`: number of ranks below the addition at which i and j meet. Raises NoTree."""

    def build(ranks: list[int]) -> Tree:
        if len(ranks) == 1:
            return ranks[0]
        groups: list[list[int]] = []
        for rank in ranks:
            home = next((group for group in groups if sizes[rank, group[0]] < len(ranks)), None)
            if home is None:
                groups.append([rank])
            else:
                home.append(rank)
        for at, group in enumerate(groups):
            for other in groups[at + 1 :]:
                if any(sizes[i, j] != len(ranks) for i in group for j in other):
                    raise NoTree
        if len(groups) == 1:
            raise NoTree
        return tuple(sorted(map(build, groups), key=lambda child: (-len(leaves(child)), leaves(child)[0])))

    return build(list(range(len(sizes))))


def line_of(ranks: Sequence[int]) -> Tree:
    """One after the other."""
    tree: Tree = ranks[0]
    for rank in ranks[1:]:
        tree = (tree, rank)
    return tree


def in_line(tree: Tree) -> list[int] | None:
    """The ranks of a sum in which every addition adds one rank; None: of another one. The first two are by rank."""
    found: list[int] = []
    while isinstance(tree, tuple):
        single = [child for child in tree if isinstance(child, int)]
        if len(tree) != 2 or not single:
            return None
        if len(single) == 2:
            return [*sorted(single), *found[::-1]]
        found.append(single[0])
        tree = next(child for child in tree if not isinstance(child, int))
    return [tree, *found[::-1]]


def written(tree: Tree) -> str:
    """As `((0+1)+2)+3`."""

    def inner(part: Tree) -> str:
        return str(part) if isinstance(part, int) else f"({'+'.join(map(inner, part))})"

    return inner(tree).removeprefix("(").removesuffix(")") if isinstance(tree, tuple) else str(tree)


def name_of(tree: Tree, ranks: int) -> str:
    """In words; with the sum itself where words do not say it all."""
    if ranks == 2:
        return "2 ranks have one order only"
    if isinstance(tree, tuple) and len(tree) == ranks:
        return "all ranks at once"
    shape = _unordered(tree)
    for words, make in _KNOWN:
        if _unordered(make(ranks)) == shape:
            return words
    line = in_line(tree)
    for size in range(2, ranks // 2 + 1):
        if line is None and ranks % size == 0 and _unordered(_in_groups(ranks, size)) == shape:
            return f"groups of {size} ranks, each in rank order, then these sums in the order of the groups"
    if line is None:
        return f"a tree: {written(tree)}"
    turn = _rotation(line)
    if turn is not None:
        start, step = turn
        return f"one after the other from rank {start} on, {_ROUND[step]} to rank {(start - step) % ranks}"
    return f"one after the other: {', '.join(map(str, line))}"


def _rotation(line: list[int]) -> tuple[int, int] | None:
    """(rank at which a round begins, 1 upwards or -1 downwards)"""
    for step in (1, -1):
        for order in (line, [line[1], line[0], *line[2:]]):
            if all(rank == (order[0] + step * at) % len(order) for at, rank in enumerate(order)):
                return order[0], step
    return None


def _unordered(tree: Tree) -> object:
    return tree if isinstance(tree, int) else frozenset(map(_unordered, tree))


def _in_pairs(ranks: int, *, far: bool = False) -> Tree:
    """Where the ranks are no power of two, the first are added in pairs before."""
    extra = ranks - (1 << ranks.bit_length() - 1)
    level: list[Tree] = [*((2 * i, 2 * i + 1) for i in range(extra)), *range(2 * extra, ranks)]
    while len(level) > 1:
        half = len(level) // 2
        pairs = zip(level, level[half:], strict=False) if far else zip(level[::2], level[1::2], strict=True)
        level = list(pairs)
    return level[0]


def _in_halves(ranks: int, first: int = 0) -> Tree:
    """The first half is the smaller one."""
    if ranks == 1:
        return first
    half = ranks // 2
    return _in_halves(half, first), _in_halves(ranks - half, first + half)


def _in_groups(ranks: int, size: int) -> Tree:
    """As racks or machines do."""
    groups = [line_of(range(first, first + size)) for first in range(0, ranks, size)]
    tree = groups[0]
    for group in groups[1:]:
        tree = (tree, group)
    return tree


def _doubling(ranks: int) -> Tree:
    """Rank r adds r + 1, then r + 2, then r + 4, as far as there are any."""
    level: list[Tree] = list(range(ranks))
    while len(level) > 1:
        level = [tuple(level[at : at + 2]) if at + 1 < len(level) else level[at] for at in range(0, len(level), 2)]
    return level[0]


_KNOWN: tuple[tuple[str, Callable[[int], Tree]], ...] = (
    ("rank order: 0, 1, 2, ...", lambda ranks: line_of(range(ranks))),
    ("reverse rank order", lambda ranks: line_of(range(ranks - 1, -1, -1))),
    ("pairs of neighbours, then pairs of these, as in recursive doubling", _doubling),
    ("pairs of neighbours, the first ranks before the others, as in recursive doubling", _in_pairs),
    ("pairs far apart first, as in recursive halving", lambda ranks: _in_pairs(ranks, far=True)),
    ("halves, each summed alone, as in pairwise summation", _in_halves),
)


@dataclass(frozen=True, eq=False)
class Orders:
    """One tree, or several by the place of the element."""

    trees: tuple[Tree, ...]
    which: Array
    """shape (elements,): index of each element's tree"""

    @classmethod
    def of(cls, tree: Tree, elements: int) -> Orders:
        return cls((tree,), np.zeros(elements, np.intp))

    def pieces(self) -> list[tuple[int, int, Tree]]:
        """(first element, end, tree) of each run of elements with one tree."""
        cuts = [0, *(np.flatnonzero(np.diff(self.which)) + 1).tolist(), len(self.which)]
        return [(a, b, self.trees[int(self.which[a])]) for a, b in pairwise(cuts)]

    def words(self, ranks: int) -> str:
        if len(self.trees) == 1:
            return name_of(self.trees[0], ranks)
        lines = [in_line(tree) for tree in self.trees]
        turns = {None if line is None else _rotation(line) for line in lines}
        for step, way in _ROUND.items():
            if ranks > 2 and turns == {(rank, step) for rank in range(ranks)}:
                way = "" if ranks == 3 else f"{way} "  # three ranks look the same in both directions
                return f"a ring: each of {len(self.pieces())} chunks from a rank of its own, {way}round the ring"
        return f"{len(self.trees)} orders, by the place in the gradient"
