"""Chakra execution traces (MLCommons, schema 0.0.4): one `.et` file for each rank.

Rules of this file
- Types of nodes: COMP takes its duration, else `num_ops` over the rate that the user states, else no time. METADATA
  takes no time. COMM_SEND, COMM_RECV and COMM_COLL communicate. Others are refused by name.
- A COMM_COLL of the CPU side (`is_cpu_op` without `comm_type`) is the call of an operation that is another node: it
  takes no time.
- `comm_size` of an all-gather is what one rank gives; of any other operation it is the whole vector (as ASTRA-sim).
- `comm_src` and `comm_dst` that are missing are the own rank's. `comm_type` of a send or a receive means nothing.
- A node waits for its control and data dependencies. Files of profilers name nodes that were filtered out: a
  dependency on a node that the file lacks is over from the start (decided here).
- Profilers write the call around a node as its control dependency, also where that ends later. So a control
  dependency that is part of a circle is ignored (decided here). A circle of data dependencies is refused.
- Two nodes run side by side where no dependency orders them (decided here).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from workloads.errors import HostCapabilityError, ScenarioError
from workloads.traces.circles import without_circles
from workloads.traces.goal import MOST_NODES
from workloads.traces.model import BARRIER, COMPUTE, RECV, SEND, JobTrace, TraceNode, refused

if TYPE_CHECKING:
    from workloads.traces import chakra_pb2

__all__ = ["ChakraOptions", "read_chakra"]

_METADATA, _COMP, _SEND, _RECV, _COLL = 1, 4, 5, 6, 7
_TYPES = {
    0: "INVALID", _METADATA: "METADATA", 2: "MEM_LOAD", 3: "MEM_STORE", _COMP: "COMP", _SEND: "COMM_SEND",
    _RECV: "COMM_RECV", _COLL: "COMM_COLL", 8: "STORAGE", 9: "BATCH", 10: "CHECKPOINT",
}  # fmt: skip
_RUN = (_METADATA, _COMP, _SEND, _RECV, _COLL)
_COLLECTIVES = {
    0: "all_reduce", 1: "reduce", 2: "all_gather", 5: "broadcast", 6: "all_to_all", 7: "reduce_scatter",
    8: "reduce_scatter", 9: BARRIER,
}  # fmt: skip
_REFUSED_COLLECTIVES = {3: "GATHER", 4: "SCATTER"}
_ROOTED = ("broadcast", "reduce")
_LENGTH_BYTES = 5
"""of a varint that is the length of a message"""
_MOST_US = (1 << 63) // 1000
_MOST_BYTES = (1 << 48) - 1
_MOST_TAG = (1 << 63) - 1
Value: TypeAlias = int | float | str | tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class ChakraOptions:
    """What the files do not say."""

    groups: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """ranks of each group by its name, in addition to those in METADATA nodes"""
    root: int | None = None
    """root of operations whose nodes name none"""
    ops_per_second: int | None = None
    """what `num_ops` is divided by"""
    ranks: int | None = None
    """the one file stands for so many ranks, which do all the same; None: there is a file for each rank"""


def read_chakra(files: Sequence[tuple[str, bytes]], options: ChakraOptions, shown: str) -> JobTrace:
    """`files`: name and content of the trace of each rank, in rank order. Raises ScenarioError for what is no trace or
    cannot run, with node and rank, and HostCapabilityError where the package `protobuf` is not installed."""
    size = options.ranks or len(files)
    if size < 2:
        raise ScenarioError(
            "the trace of one rank does not say how large the job is", file=shown, found="one .et file",
            allowed="job.trace_ranks: the number of ranks that do what this one does",
        )  # fmt: skip
    parsed = [(name, _messages(name, data)) for name, data in files]
    groups = dict(options.groups)
    for name, messages in parsed:
        for message in messages:
            if message.type == _METADATA:
                groups |= _groups_of(name, message)
    nodes = [_Rank(name, rank, size, groups, options).nodes(messages) for rank, (name, messages) in enumerate(parsed)]
    if options.ranks is not None:
        for node in nodes[0]:
            if node.kind in (SEND, RECV):
                raise refused(
                    shown, 0, node, "one rank's messages do not say what other ranks send", found=node.kind,
                    allowed="collectives; or an .et file for each rank",
                )  # fmt: skip
        nodes *= size
    return JobTrace(shown, tuple(nodes))


def _messages(file: str, data: bytes) -> list[chakra_pb2.Node]:
    try:
        from google.protobuf.message import DecodeError

        from workloads.traces import chakra_pb2
    except ImportError:
        raise HostCapabilityError("the Python package protobuf", "pip install 'ina-testbed[chakra]'") from None
    found, at, header = list[chakra_pb2.Node](), 0, True
    while at < len(data):
        length, start = _length(file, data, at)
        body, at = data[start : start + length], start + length
        try:
            if header:
                chakra_pb2.Header.FromString(body)
            else:
                found.append(chakra_pb2.Node.FromString(body))
        except (DecodeError, UnicodeDecodeError):
            what = "the header" if header else f"message {len(found) + 1} after the header"
            raise ScenarioError(
                f"{what} is no message of Chakra", file=file, found=f"{length} bytes at byte {start}",
                allowed="a trace of schema 0.0.4",
            ) from None  # fmt: skip
        header = False
        if len(found) > MOST_NODES:
            raise ScenarioError("too many nodes", file=file, found=f"more than {MOST_NODES}", allowed="fewer")
    if not found:
        raise ScenarioError(
            "holds no node", file=file, found=f"{len(data)} bytes", allowed="a header and one node or more"
        )
    return found


def _length(file: str, data: bytes, at: int) -> tuple[int, int]:
    """(length of the message, where it starts)"""
    value = 0
    for place in range(at, min(at + _LENGTH_BYTES, len(data))):
        value |= (data[place] & 0x7F) << 7 * (place - at)
        if data[place] < 0x80:
            if value > len(data) - place - 1:
                raise ScenarioError(
                    "ends inside a message", file=file, found=f"{len(data) - place - 1} of {value} bytes at byte {at}",
                    allowed="a whole file",
                )  # fmt: skip
            return value, place + 1
    raise ScenarioError(
        "no length of a message", file=file, found=f"byte {at} of {len(data)}", allowed="a varint of 1 to 5 bytes"
    )


def _groups_of(file: str, message: chakra_pb2.Node) -> dict[str, tuple[int, ...]]:
    """Groups that a METADATA node lists: a JSON list of `{"pg_name": ..., "ranks": [...]}` in its inputs. Other texts
    list no groups."""
    text = message.inputs.values
    if '"pg_name"' not in text:
        return {}
    first, last = text.find("[{"), text.rfind("}]")
    try:
        listed = json.loads(text[first : last + 2])
        return {str(entry["pg_name"]): _ranks(entry["ranks"]) for entry in listed if "pg_name" in entry}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ScenarioError(
            f"node {message.id}: not a list of groups", file=file, found=repr(text[:40]),
            allowed='[{"pg_name": "1", "ranks": [0, 1]}, ...]',
        ) from None  # fmt: skip


def _ranks(value: object) -> tuple[int, ...]:
    """Raises TypeError."""
    if not isinstance(value, list) or not all(type(rank) is int for rank in value):
        raise TypeError
    return tuple(value)


@dataclass
class _Rank:
    file: str
    rank: int
    size: int
    groups: Mapping[str, tuple[int, ...]]
    options: ChakraOptions
    _values: dict[str, Value] = field(default_factory=dict)
    """attributes of the node that is read"""

    def nodes(self, messages: Sequence[chakra_pb2.Node]) -> tuple[TraceNode, ...]:
        places: dict[int, int] = {}
        for place, message in enumerate(messages):
            if message.id in places:
                raise ScenarioError(
                    f"rank {self.rank}: two nodes have id {message.id}", file=self.file, found=repr(message.name[:40]),
                    allowed="ids that are different",
                )  # fmt: skip
            places[message.id] = place
        data = [[places[other] for other in message.data if other in places] for message in messages]
        control = [[places[other] for other in message.control if other in places] for message in messages]
        after = without_circles(data, control)
        return tuple(self._node(message, own) for message, own in zip(messages, after, strict=True))

    def _node(self, message: chakra_pb2.Node, after: tuple[int, ...]) -> TraceNode:
        bare = TraceNode(message.id, message.name[:80], COMPUTE, after=after)
        if message.type not in _RUN:
            name = f"{_TYPES[message.type]}_NODE" if message.type in _TYPES else f"type {message.type}"
            raise refused(
                self.file, self.rank, bare, "no run has such nodes", found=name,
                allowed=", ".join(f"{_TYPES[known]}_NODE" for known in _RUN),
            )  # fmt: skip
        self._values = {attribute.name: _value(attribute) for attribute in message.attributes}
        if message.type == _COMP:
            return self._computing(bare, message.duration_us)
        if message.type == _COLL:
            return self._collective(bare)
        if message.type in (_SEND, _RECV):
            return self._message(bare, SEND if message.type == _SEND else RECV)
        return bare

    def _computing(self, node: TraceNode, duration_us: int) -> TraceNode:
        if duration_us > _MOST_US:
            raise refused(
                self.file, self.rank, node, "takes too long", found=f"{duration_us} us", allowed=f"at most {_MOST_US}"
            )
        takes, ops = duration_us * 1000, self._whole(node, "num_ops", 0, _MOST_TAG, 0)
        if not takes and ops:
            if self.options.ops_per_second is None:
                raise refused(
                    self.file, self.rank, node, "operations take no time without a rate", found=f"num_ops {ops}",
                    allowed="job.trace_ops, operations per second",
                )  # fmt: skip
            takes = round(ops * 1e9 / self.options.ops_per_second)
        return replace(node, compute_ns=takes)

    def _message(self, node: TraceNode, kind: str) -> TraceNode:
        size = self._whole(node, "comm_size", 0, _MOST_BYTES, None)
        source = self._whole(node, "comm_src", 0, self.size - 1, self.rank)
        target = self._whole(node, "comm_dst", 0, self.size - 1, self.rank)
        own, peer = (source, target) if kind == SEND else (target, source)
        if own != self.rank or peer == self.rank:
            raise refused(
                self.file, self.rank, node, "not a message between this rank and another",
                found=f"comm_src {source}, comm_dst {target}", allowed=f"rank {self.rank} as one of them",
            )  # fmt: skip
        tag = self._whole(node, "comm_tag", 0, _MOST_TAG, 0)
        return replace(node, kind=kind, bytes=size, peer=peer, tag=tag)

    def _collective(self, node: TraceNode) -> TraceNode:
        if "comm_type" not in self._values and self._values.get("is_cpu_op"):
            return node
        number = self._whole(node, "comm_type", 0, _MOST_TAG, None)
        if number not in _COLLECTIVES:
            raise refused(
                self.file, self.rank, node, "no run has this collective",
                found=_REFUSED_COLLECTIVES.get(number, f"comm_type {number}"),
                allowed=", ".join(dict.fromkeys(_COLLECTIVES.values())),
            )  # fmt: skip
        kind = _COLLECTIVES[number]
        dimensions = self._values.get("involved_dim", ())
        if not isinstance(dimensions, tuple) or not all(dimensions):
            raise refused(
                self.file, self.rank, node, "a collective over some dimensions of a network",
                found=f"involved_dim {dimensions}", allowed="all dimensions; or pg_name for some of the ranks",
            )  # fmt: skip
        group = self._group(node)
        size = 0 if kind == BARRIER else self._whole(node, "comm_size", 0, _MOST_BYTES, None)
        if kind == "all_gather":
            size *= len(group) or self.size
        return replace(node, kind=kind, bytes=size, group=group, root=self._root(node, kind))

    def _root(self, node: TraceNode, kind: str) -> int:
        if kind not in _ROOTED:
            return 0
        key = next((name for name in ("root", "comm_root", "root_rank") if name in self._values), None)
        if key is not None:
            return self._whole(node, key, 0, self.size - 1, None)
        if self.options.root is None:
            raise refused(
                self.file, self.rank, node, f"the node of a {kind} names no root", found="no attribute root",
                allowed=f"job.trace_root, 0 to {self.size - 1}",
            )  # fmt: skip
        return self.options.root

    def _group(self, node: TraceNode) -> tuple[int, ...]:
        name = str(self._values.get("pg_name", ""))
        ranks = self.groups.get(name)
        if ranks is None and name in ("", "0"):
            return ()
        if ranks is None:
            known = ", ".join(sorted(self.groups)[:8]) or "none"
            raise refused(
                self.file, self.rank, node, "nothing says which ranks the group has", found=f"pg_name {name!r}",
                allowed=f"groups of METADATA nodes or of job.trace_groups (known: {known})",
            )  # fmt: skip
        if not ranks:
            return ()
        if len(set(ranks)) < len(ranks) or not all(0 <= rank < self.size for rank in ranks) or self.rank not in ranks:
            raise refused(
                self.file, self.rank, node, f"group {name!r} does not fit", found=str(list(ranks)[:16]),
                allowed=f"ranks 0 to {self.size - 1}, each once, rank {self.rank} among them",
            )  # fmt: skip
        return () if ranks == tuple(range(self.size)) else ranks

    def _whole(self, node: TraceNode, key: str, least: int, most: int, default: int | None) -> int:
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            found = "nothing" if value is None else repr(value)
            raise refused(
                self.file,
                self.rank,
                node,
                f"attribute {key}",
                found=found,
                allowed=f"a whole number, {least} to {most}",
            )
        return value


def _value(attribute: chakra_pb2.Attribute) -> Value:
    """Text that is no known type of value."""
    kind = attribute.WhichOneof("value")
    if kind is None:
        return "a value of another type"
    found = getattr(attribute, kind)
    return tuple(found.values) if kind == "as_flags" else found
