"""Chakra execution traces (MLCommons, schema 0.0.4) as bytes: the other half of `chakra`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workloads.errors import HostCapabilityError
from workloads.traces.model import BARRIER

if TYPE_CHECKING:
    from workloads.traces import chakra_pb2

__all__ = ["COLLECTIVE", "COMPUTING", "RECEIVING", "SENDING", "WrittenNode", "require_protobuf", "written"]

_METADATA, COMPUTING, SENDING, RECEIVING, COLLECTIVE = 1, 4, 5, 6, 7
"""types of nodes"""
_NUMBERS = {
    "all_reduce": 0, "reduce": 1, "all_gather": 2, "broadcast": 5, "all_to_all": 6, "reduce_scatter": 7, BARRIER: 9,
}  # fmt: skip
_VERSION = "0.0.4"


@dataclass(frozen=True, slots=True)
class WrittenNode:
    type: int
    number: int
    """its id, from 1"""
    after: tuple[int, ...] = ()
    """ids of nodes that end before"""
    name: str = ""
    duration_us: int = 0
    operation: str = ""
    """of a collective"""
    attributes: Mapping[str, int | str] = field(default_factory=dict)


def require_protobuf() -> None:
    """Raises HostCapabilityError where the package is not installed."""
    try:
        from workloads.traces import chakra_pb2  # noqa: F401
    except ImportError:
        raise HostCapabilityError("the Python package protobuf", "pip install 'ina-testbed[chakra]'") from None


def written(nodes: Iterable[WrittenNode], groups: Mapping[str, tuple[int, ...]]) -> bytes:
    """The file of one rank. `groups`: ranks by `pg_name`, which node 0 lists. Raises as `require_protobuf`."""
    require_protobuf()
    from workloads.traces import chakra_pb2

    listed = json.dumps([{"pg_name": name, "ranks": list(ranks)} for name, ranks in groups.items()])
    first = chakra_pb2.Node(id=0, name="groups", type=_METADATA, inputs=chakra_pb2.Tensors(values=listed))
    header = chakra_pb2.Header(version=_VERSION)
    bodies = [header.SerializeToString(), *(node.SerializeToString() for node in (first, *map(_node, nodes)))]
    return b"".join(_length(len(body)) + body for body in bodies)


def _node(node: WrittenNode) -> chakra_pb2.Node:
    from workloads.traces import chakra_pb2

    attributes = dict(node.attributes)
    if node.type == COLLECTIVE:
        attributes["comm_type"] = _NUMBERS[node.operation]
    return chakra_pb2.Node(
        id=node.number, name=node.name, type=node.type, data=node.after, duration_us=node.duration_us,
        attributes=[_attribute(*item) for item in attributes.items()],
    )  # fmt: skip


def _attribute(name: str, value: int | str) -> chakra_pb2.Attribute:
    from workloads.traces import chakra_pb2

    if isinstance(value, str):
        return chakra_pb2.Attribute(name=name, as_text=value)
    return chakra_pb2.Attribute(name=name, as_int64=value)


def _length(number: int) -> bytes:
    """A varint."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))
