"""`faults`: from the list in a file to fault values, with names and links resolved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from testbed.faults.base import Fault, LinkFault, NodeFault
from testbed.faults.kinds import FAULT_KINDS
from testbed.reading.keytypes import At, Told
from testbed.reading.problems import KeyPath, closest, show
from testbed.reading.sections import Tagged, as_far_as_known, changed
from topologies import Topology

__all__ = ["FAULT", "Placed", "load_faults", "written_faults"]

Placed = tuple[KeyPath, str, Fault]
"""(where it stands in the file, its kind, the value)"""

FAULT = Tagged(
    "kind", lambda: {word: kind.value for word, kind in FAULT_KINDS.items()}, "the fault", "unknown kind of fault"
)
"""how one stands in a file"""


def load_faults(at: At, value: object, topology: Topology | None, more_nodes: Sequence[str] = ()) -> list[Placed]:
    """All whose kind is known; some may not be whole. Without a topology links stay unchecked. `more_nodes`: what can die or
    stand still besides the nodes of the topology."""
    if value is None:
        return []
    if not isinstance(value, list):
        at.add("not a list", found=show(value), allowed="one fault per `- kind: ...`")
        return []
    result: list[Placed] = []
    taken: dict[str, int] = {}
    for index, entry in enumerate(value):
        fault = _load_one(at / index, entry, index)
        if fault is None:
            continue
        with as_far_as_known():
            if fault.name in taken:
                (at / index / "name").add(
                    "two faults of one name", found=f"'{fault.name}', also faults[{taken[fault.name]}]",
                    allowed="a name of its own",
                )  # fmt: skip
            taken.setdefault(fault.name, index)
        result.append(((*at.path, index), FAULT.word(fault), _resolved(at / index, fault, topology, more_nodes)))
    return result


def _load_one(at: At, entry: object, index: int) -> Fault | None:
    word = entry.get("kind") if isinstance(entry, dict) else None
    name = f"{word.replace('_', '-')}-{index + 1}" if isinstance(word, str) else None
    try:
        return cast(Fault | None, FAULT.read_kind(entry, at, {"name": name, "links": None}))
    except Told:
        return None


def _resolved(at: At, fault: Fault, topology: Topology | None, more_nodes: Sequence[str]) -> Fault:
    """With the names of its links; what is not there is told."""
    if isinstance(fault, LinkFault):
        known = () if topology is None else tuple(link.name for link in topology.links)
        with as_far_as_known():
            names = cast(tuple[str, ...] | None, fault.links)
            if names is None:
                return changed(fault, links=known)
            unknown = [] if topology is None else [name for name in names if name not in known]
            for name in unknown:
                allowed = f"all, {', '.join(known)}"
                (at / "links").add("no such link", found=show(name), allowed=allowed, hint=closest(name, known))
            if unknown:
                return changed(fault, forget=("links",))
    elif isinstance(fault, NodeFault) and topology is not None:
        with as_far_as_known():
            nodes = [*(node.name for node in topology.nodes), *more_nodes]
            if fault.node not in nodes:
                (at / "node").add(
                    "no such node", found=show(fault.node), allowed=", ".join(nodes), hint=closest(fault.node, nodes)
                )
    return fault


def written_faults(faults: Sequence[Fault], topology: Topology) -> list[dict[str, Any]]:
    """The list that loads back to the same faults."""
    every = tuple(link.name for link in topology.links)
    return [
        FAULT.write(changed(fault, links=None) if isinstance(fault, LinkFault) and fault.links == every else fault)
        for fault in faults
    ]
