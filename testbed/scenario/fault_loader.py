"""`faults`: from the list in a file to fault values, with names and links resolved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from testbed.faults.model import Fault, Match
from testbed.reading.problems import KeyPath, Problems, closest, show
from testbed.reading.validate import validate_mapping, validate_section
from testbed.scenario.fault_schema import FAULT_KINDS, MatchKeys
from topologies import Topology

__all__ = ["Placed", "load_faults"]

Placed = tuple[KeyPath, str, Fault]
"""(where it stands in the file, its kind, the value)"""


def load_faults(
    problems: Problems, value: object, topology: Topology | None, more_nodes: Sequence[str] = ()
) -> list[Placed]:
    """Those that are good; problems of the others are told. Without a topology links stay unchecked. `more_nodes`: what can
    die or stand still besides the nodes of the topology."""
    if value is None:
        return []
    if not isinstance(value, list):
        problems.add(("faults",), "not a list", found=show(value), allowed="one fault per `- kind: ...`")
        return []
    result: list[Placed] = []
    taken: dict[str, int] = {}
    for index, entry in enumerate(value):
        path: KeyPath = ("faults", index)
        data = validate_mapping(problems, path, entry, "the fault")
        placed = data and _load_one(problems, path, data, index, topology, more_nodes)
        if not placed:
            continue
        name = placed[2].name
        if name in taken:
            problems.add(
                (*path, "name"), "two faults of one name", found=f"'{name}', also faults[{taken[name]}]",
                allowed="a name of its own",
            )  # fmt: skip
        else:
            taken[name] = index
            result.append(placed)
    return result


def _load_one(
    problems: Problems,
    path: KeyPath,
    data: dict[str, Any],
    index: int,
    topology: Topology | None,
    more_nodes: Sequence[str],
) -> Placed | None:
    word = data.get("kind")
    kind = FAULT_KINDS.get(word) if isinstance(word, str) else None
    if not isinstance(word, str) or kind is None:
        known, there = list(FAULT_KINDS), "kind" in data
        problems.add(
            (*path, "kind"),
            "unknown kind of fault" if there else "is missing",
            found=show(word) if there else None,
            allowed=", ".join(known),
            hint=closest(word, known),
        )
        return None
    keys: Any = validate_section(problems, path, data, kind.keys, "the fault")
    match = _load_match(problems, (*path, "match"), data.get("match"))
    if keys is None or match is None:
        return None
    links = _resolve_links(problems, path, keys, topology)
    if links is None or not _node_exists(problems, path, keys, topology, more_nodes):
        return None
    return path, word, kind.build(keys, keys.name or f"{word.replace('_', '-')}-{index + 1}", links, match)


def _load_match(problems: Problems, path: KeyPath, value: object) -> Match | None:
    if value is None:
        return Match()
    keys = validate_section(problems, path, value, MatchKeys, "match")
    if keys is None:
        return None
    if keys.opcode[1] is not None and keys.syndrome is not None:
        problems.add(
            (*path, "syndrome"), "the opcode's word fixes the syndrome already",
            found=f"{keys.syndrome:#04x}", allowed="`opcode: ACKNOWLEDGE` with a syndrome, or `opcode: ack` or `nak`",
        )  # fmt: skip
        return None
    return keys.value()


def _resolve_links(problems: Problems, path: KeyPath, keys: Any, topology: Topology | None) -> tuple[str, ...] | None:
    if topology is None:
        return ()
    known = tuple(link.name for link in topology.links)
    names: tuple[str, ...] | None = getattr(keys, "links", None)
    if names is None:
        return known
    unknown = [name for name in names if name not in known]
    for name in unknown:
        problems.add(
            (*path, "links"), "no such link", found=show(name), allowed=f"all, {', '.join(known)}", hint=closest(name, known)
        )  # fmt: skip
    return None if unknown else names


def _node_exists(
    problems: Problems, path: KeyPath, keys: Any, topology: Topology | None, more_nodes: Sequence[str]
) -> bool:
    name: str | None = getattr(keys, "node", None)
    if name is None or topology is None:
        return True
    known = [*(node.name for node in topology.nodes), *more_nodes]
    if name not in known:
        problems.add(
            (*path, "node"), "no such node", found=show(name), allowed=", ".join(known), hint=closest(name, known)
        )
    return name in known
