"""The rule of trees, on results made by hand."""

from __future__ import annotations

import pytest

from testbed.hunt.tree_rules import COPIED_ONCE, TreeWatch
from tests.support.ps_bench import UP, TreeBench, switch_in_trees


class Watched(TreeBench):
    """What the switch does is told to the rule, changed on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: list[str] = []
        self.watch = TreeWatch(switch_in_trees(self.job), lambda rule, what: self.broken.append(rule))
        self.change = lambda frames: frames

    def give(self, port, frame):
        self.watch.came(frame, 0)
        sent = super().give(port, frame)
        for each in self.change([each.frame for each in sent]):
            self.watch.left(each, 0)
        self.watch.drained()
        return sent


@pytest.mark.parametrize(
    ("to", "change", "broken"),
    [
        (None, lambda frames: frames, 0),
        (None, lambda frames: frames[:1], 1),
        (None, lambda frames: frames * 2, 2),
        (3, lambda frames: frames, 0),
        (3, lambda frames: [], 1),
    ],
)
def test_a_result_leaves_once_by_each_port_behind_which_it_is_wanted(to, change, broken):
    bench = Watched()
    bench.change = change
    bench.result(UP, 0, to)
    assert bench.broken == [COPIED_ONCE] * broken


def test_contributions_are_no_results():
    bench = Watched()
    bench.sums(0, (0, 1), 1)
    assert bench.broken == []
