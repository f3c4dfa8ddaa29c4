"""Trees from sizes, and their names."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.fingerprint.reducer import Array
from testbed.fingerprint.trees import NoTree, Orders, Tree, in_line, leaves, line_of, name_of, tree_of_sizes, written


def sizes_of(tree: Tree, ranks: int) -> Array:
    found = np.zeros((ranks, ranks), np.int64)

    def fill(part: Tree) -> None:
        if isinstance(part, int):
            return
        for child in part:
            fill(child)
        for at, child in enumerate(part):
            for other in part[at + 1 :]:
                for i in leaves(child):
                    for j in leaves(other):
                        found[i, j] = found[j, i] = len(leaves(part))

    fill(tree)
    return found


@pytest.mark.parametrize(
    ("tree", "text", "name"),
    [
        (line_of(range(4)), "((0+1)+2)+3", "rank order: 0, 1, 2, ..."),
        (line_of([2, 3, 1, 0]), "((2+3)+1)+0", "reverse rank order"),
        (line_of([1, 2, 3, 0]), "((1+2)+3)+0", "one after the other from rank 1 on, upwards to rank 0"),
        (line_of([0, 3, 2, 1]), "((0+3)+2)+1", "one after the other from rank 0 on, downwards to rank 1"),
        (line_of([0, 2, 1, 3]), "((0+2)+1)+3", "one after the other: 0, 2, 1, 3"),
        (((0, 1), (2, 3)), "(0+1)+(2+3)", "pairs of neighbours, then pairs of these, as in recursive doubling"),
        (((0, 2), (1, 3)), "(0+2)+(1+3)", "pairs far apart first, as in recursive halving"),
        (((0, 3), (1, 2)), "(0+3)+(1+2)", "a tree: (0+3)+(1+2)"),
        ((0, 1, 2, 3), "0+1+2+3", "all ranks at once"),
        (
            ((((0, 1), (2, 3)), (4, 5)), (6, 7)), "(((0+1)+(2+3))+(4+5))+(6+7)",
            "groups of 2 ranks, each in rank order, then these sums in the order of the groups",
        ),
    ],
)  # fmt: skip
def test_a_tree_comes_back_from_its_sizes(tree: Tree, text: str, name: str) -> None:
    ranks = len(leaves(tree))
    found = tree_of_sizes(sizes_of(tree, ranks))
    assert written(found) == text
    assert name_of(found, ranks) == name


def test_sizes_of_no_tree() -> None:
    wrong = sizes_of(line_of(range(4)), 4)
    wrong[0, 3] = wrong[3, 0] = 3
    with pytest.raises(NoTree):
        tree_of_sizes(wrong)
    with pytest.raises(NoTree):
        tree_of_sizes(np.full((3, 3), 2))


def test_pieces() -> None:
    orders = Orders((line_of([0, 1, 2]), line_of([1, 2, 0]), line_of([0, 2, 1])), np.repeat([0, 1, 2], 4))
    assert [(first, end, written(tree)) for first, end, tree in orders.pieces()] == [
        (0, 4, "(0+1)+2"), (4, 8, "(1+2)+0"), (8, 12, "(0+2)+1"),
    ]  # fmt: skip
    assert orders.words(3) == "a ring: each of 3 chunks from a rank of its own, round the ring"
    assert in_line(((0, 1), (2, 3))) is None
    assert name_of((0, 1), 2) == "2 ranks have one order only"
