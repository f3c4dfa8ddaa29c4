"""A job of a plain parameter server as a switch serves it: its place in the job's trees (docs/ps.md).

Every block has a tree, whose root is the server and whose leaves are the workers. Contributions are added wherever
ports of one tree meet, and results are copied wherever they part.
"""

from __future__ import annotations

from switch_nodes.aggregators.served import ServedJob
from switch_nodes.config import SwitchConfig
from switch_nodes.job_checks import check_tree, job_refused
from switch_nodes.jobs import JobConfig, TreeChild, TreeLinks

__all__ = ["TreeJob", "TreePlace", "check_trees"]


class TreePlace:
    """Of this switch in one tree."""

    def __init__(self, links: TreeLinks) -> None:
        self.up, self.children = links.up, links.children
        self.by_port = {child.port: child for child in links.children}
        self.copies = [
            (child.port, (child.ranks & -child.ranks).bit_length() - 1, child.host < 0) for child in links.children
        ]
        """of a result: port, rank of the first worker behind it, and whether a switch is there"""
        self.below = sum(child.ranks for child in links.children)
        """bitmap of the workers"""
        self.meets = len(links.children) > 1
        """there is something to add"""

    def child_of(self, rank: int) -> TreeChild | None:
        return next((child for child in self.children if child.ranks >> rank & 1), None)


class TreeJob(ServedJob):
    """The sum of a child is its whole sum. The last switch below where ports meet made it, or a worker alone."""

    def __init__(self, config: JobConfig) -> None:
        ServedJob.__init__(self, config)
        self._places = [None if links is None else TreePlace(links) for links in config.trees]

    def place_of(self, sequence: int) -> TreePlace | None:
        """None: packets of this block take a tree that this switch is not in."""
        return self._places[(sequence - 1) % len(self._places)]

    def target_of(self, sequence: int) -> int:
        place = self.place_of(sequence)
        return self.everyone if place is None else place.below

    def adds_from(self, rank: int, sequence: int) -> bool:
        return self.place_of(sequence) is not None

    def has_results_of(self, sequence: int) -> bool:
        return self.place_of(sequence) is not None

    def comes_by(self, port: int, rank: int, sequence: int) -> bool:
        child = self._child(port, sequence)
        return child is not None and rank >= 0 and bool(child.ranks >> rank & 1)

    def may_hold(self, port: int, rank: int, sequence: int, bitmap: int, edge: bool) -> bool:
        """Workers of one child; racks as a whole, if it says so. What one switch added and another could not may be
        less than the child."""
        child = self._child(port, sequence)
        if child is None or bitmap & ~child.ranks:
            return False
        return not edge or not [rack for rack in self.rack_masks if bitmap & rack not in (0, rack)]

    def joins(self, port: int, rank: int, sequence: int, bitmap: int, edge: bool) -> bool:
        """All of a child, where there are others."""
        place, child = self.place_of(sequence), self._child(port, sequence)
        return place is not None and place.meets and child is not None and bitmap == child.ranks

    def is_above(self, port: int, sequence: int) -> bool:
        place = self.place_of(sequence)
        return place is not None and port == place.up

    def _child(self, port: int, sequence: int) -> TreeChild | None:
        place = self.place_of(sequence)
        return None if place is None else place.by_port.get(port)


def check_trees(switch: SwitchConfig) -> None:
    """Raises ScenarioError for jobs whose trees cannot be followed."""
    for config in switch.jobs:
        if not any(config.trees):
            raise job_refused(switch, config, "trees", "none", "the ports of its part of one of them at least")
        for links in config.trees:
            if links is not None:
                check_tree(switch, config, links, len(config.members))
