"""Chakra traces for tests, as bytes and as folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workloads.traces import chakra_pb2

__all__ = ["COLLECTIVES", "et", "node", "write_trace"]

COLLECTIVES = {
    "all_reduce": 0, "reduce": 1, "all_gather": 2, "broadcast": 5, "all_to_all": 6, "reduce_scatter": 7, "barrier": 9,
}  # fmt: skip
_TYPES = {"metadata": 1, "load": 2, "compute": 4, "send": 5, "recv": 6, "collective": 7}


def node(
    number: int, kind: str, after: Iterable[int] = (), *, us: int = 0, name: str = "", control: Iterable[int] = (),
    inputs: str = "", **attributes: Any,
) -> chakra_pb2.Node:  # fmt: skip
    """`kind`: a type, or a collective. `attributes`: int, bool, text, or a tuple of bools."""
    if kind in COLLECTIVES:
        attributes = {"comm_type": COLLECTIVES[kind], **attributes}
    return chakra_pb2.Node(
        id=number, name=name, type=_TYPES.get(kind, 7), data=after, control=control, duration_us=us,
        inputs=chakra_pb2.Tensors(values=inputs), attributes=[_attribute(*item) for item in attributes.items()],
    )  # fmt: skip


def _attribute(name: str, value: Any) -> chakra_pb2.Attribute:
    made = chakra_pb2.Attribute(name=name)
    if isinstance(value, bool):
        made.as_bool = value
    elif isinstance(value, int):
        made.as_int64 = value
    elif isinstance(value, str):
        made.as_text = value
    else:
        made.as_flags.values.extend(value)
    return made


def et(nodes: Iterable[chakra_pb2.Node]) -> bytes:
    """An .et file."""
    messages = [chakra_pb2.Header(version="0.0.4"), *nodes]
    return b"".join(_length(len(body)) + body for body in (message.SerializeToString() for message in messages))


def _length(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))


def write_trace(
    folder: Path, ranks: Sequence[Iterable[chakra_pb2.Node]] | Mapping[int, Iterable[chakra_pb2.Node]]
) -> str:
    """The path of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, nodes in enumerate(ranks) if not isinstance(ranks, Mapping) else ranks.items():
        (folder / f"trace.{rank}.et").write_bytes(et(nodes))
    return str(folder)
