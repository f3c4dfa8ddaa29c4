"""Requirements of queues with classes on the rest of the scenario. No queue trims, because a trimmed packet carries a
DSCP of the same range as the classes. Only virtual time has some kinds of queues."""

from __future__ import annotations

from testbed.reading.problems import KeyPath, Problems
from testbed.scenario.keys.link import only_virtual
from topologies import LinkShape, Topology
from workloads.wire.trimming import TRIMMED_DSCP

__all__ = ["check_classes", "check_queues"]

_KEYS = {"priority": "priority", "drop_low_above": "drop_low_above_packets"}
"""with the field of LinkShape"""


def check_classes(problems: Problems, topology: Topology, shape: LinkShape) -> None:
    """`shape`: of all links that say nothing else."""
    trims = next((link.name for link in topology.links if link.shape.trims), None)
    if trims is None:
        return
    problem = f"{trims} trims packets, whose headers have DSCP {TRIMMED_DSCP}, which is that of a low class here"
    for key, field in _KEYS.items():
        plain = getattr(LinkShape(), field)
        for index, link in enumerate(topology.links):
            asked = getattr(link.shape, field)
            if asked != plain:
                where = _where(topology, index, key, is_plain=asked == getattr(shape, field))
                problems.add(where, problem, found=f"'{asked}'", allowed="none; or queue_full: drop on all links")
                break


def check_queues(problems: Problems, world: str, topology: Topology, shape: LinkShape) -> None:
    """`shape`: of all links that say nothing else."""
    if world == "simulated":
        return
    for index, link in enumerate(topology.links):
        if only_virtual(link.shape):
            key = "priority" if link.shape.red is None else "red"
            asked = getattr(link.shape, key)
            where = _where(topology, index, key, is_plain=asked == getattr(shape, key))
            what = key if link.shape.red is not None else f"priority: {asked}"
            problem = f"only the simulated world has {what}"
            problems.add(where, problem, found=f"world {world}", allowed="world: simulated (or --world simulated)")
            return


def _where(topology: Topology, index: int, key: str, *, is_plain: bool) -> KeyPath:
    """The key that asks for it."""
    if is_plain:
        return ("topology", "link", key)
    return ("topology", "links", index if topology.kind == "custom" else topology.links[index].name, key)
