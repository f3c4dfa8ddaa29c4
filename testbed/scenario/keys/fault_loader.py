"""`faults`: from the list in a file to fault values, with names and links resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from testbed.faults.base import Fault, LinkFault, NodeFault
from testbed.faults.kinds import FAULT_KINDS
from testbed.reading.compound import Tagged
from testbed.reading.keytypes import At, KeyType, Refer, Told
from testbed.reading.problems import KeyPath, closest, show
from testbed.reading.sections import as_far_as_known, changed
from topologies import Topology

__all__ = ["FaultsType", "Placed", "as_written", "place_faults"]

Placed = tuple[KeyPath, str, Fault]
"""(where it stands in the file, its kind, the value)"""

FAULT = Tagged(
    "kind", lambda: {word: kind.value for word, kind in FAULT_KINDS.items()}, "the fault", "unknown kind of fault"
)
"""how one stands in a file"""


@dataclass(frozen=True, slots=True)
class FaultsType(KeyType):
    """A list of faults, each with a name of its own."""

    def read(self, value: Any, at: At) -> tuple[Fault | None, ...]:
        """None for those whose kind is not known. `links` are None where all are meant."""
        if not isinstance(value, list):
            at.add("not a list", found=show(value), allowed="one fault per `- kind: ...`")
            raise Told
        found = tuple(_load_one(at / index, entry, index) for index, entry in enumerate(value))
        taken: dict[str, int] = {}
        for index, fault in enumerate(found):
            with as_far_as_known():
                if fault is not None and fault.name in taken:
                    (at / index / "name").add(
                        "two faults of one name", found=f"'{fault.name}', also faults[{taken[fault.name]}]",
                        allowed="a name of its own",
                    )  # fmt: skip
                if fault is not None:
                    taken.setdefault(fault.name, index)
        return found

    def write(self, value: Sequence[Fault]) -> list[dict[str, Any]]:
        return [FAULT.write(fault) for fault in value]

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "array", "items": FAULT.schema(refer)}

    def sections(self) -> tuple[type, ...]:
        return FAULT.sections()


def _load_one(at: At, entry: object, index: int) -> Fault | None:
    word = entry.get("kind") if isinstance(entry, dict) else None
    name = f"{word.replace('_', '-')}-{index + 1}" if isinstance(word, str) else None
    try:
        return cast(Fault | None, FAULT.read_kind(entry, at, {"name": name, "links": None}))
    except Told:
        return None


def place_faults(
    at: At, faults: Sequence[Fault | None], topology: Topology | None, more_nodes: Sequence[str] = ()
) -> list[Placed]:
    """With their places in the file, their kinds, and the names of their links. Without a topology links stay
    unchecked. `more_nodes`: what can die or stand still besides the nodes of the topology."""
    return [
        ((*at.path, index), FAULT.word(fault), _resolved(at / index, fault, topology, more_nodes))
        for index, fault in enumerate(faults)
        if fault is not None
    ]


def _resolved(at: At, fault: Fault, topology: Topology | None, more_nodes: Sequence[str]) -> Fault:
    """The fault with the names of its links. Adds a problem for each link or node that does not exist."""
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


def as_written(faults: Sequence[Fault], topology: Topology) -> tuple[Fault, ...]:
    """As a file says it: `all` links where all are meant."""
    every = tuple(link.name for link in topology.links)
    return tuple(
        changed(fault, links=None) if isinstance(fault, LinkFault) and fault.links == every else fault
        for fault in faults
    )
