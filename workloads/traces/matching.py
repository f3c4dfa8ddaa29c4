"""Which nodes of different ranks belong together, and whether all of them can end.

Rules of this file
- The k-th collective of a group on one rank is the k-th of that group on every rank of it, in the order of the file.
  They must agree on kind, size and root.
- A receive takes the first message that came and fits its source and tag. A message that no receive has asked for yet
  waits at the receiver, so a send never waits for its receive.
- A try in which only computing takes time finds what would never end: a receive without a message, a collective that
  one rank omits, a circle of dependencies. A message that no receive takes is refused, too.
- The order in which collectives end in that try is their `turn`. Ranks that run them one at a time, in this order,
  never wait for each other in a circle: whatever a collective needs has ended before it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count

from workloads.traces.model import ANY, COMPUTE, RECV, SEND, JobTrace, TraceNode, refused

__all__ = ["MESSAGE", "TraceOperation", "fits", "match"]

MESSAGE = "message"
"""kind of an operation: a send, and the receive that takes it"""
_READY, _RUNS, _ENDS = "ready", "runs", "ends"
"""what may happen to a node"""


@dataclass(frozen=True, slots=True)
class TraceOperation:
    """What ranks do together."""

    kind: str
    """message, barrier, or a collective operation"""
    ranks: tuple[int, ...]
    """of the job, in the order of the group; sender and receiver of a message"""
    places: tuple[int, ...]
    """of its node among the nodes of each of these ranks; of a message that of the sender alone"""
    bytes: int
    root: int = 0
    """place among `ranks`"""
    tag: int = 0
    turn: int = -1
    """of a collective: its place in an order in which all of them can run one at a time"""


def fits(node_source: int, node_tag: int, source: int, tag: int) -> bool:
    """Whether a receive takes a message."""
    return node_source in (ANY, source) and node_tag in (ANY, tag)


def match(trace: JobTrace) -> tuple[TraceOperation, ...]:
    """Messages and collectives, by the first rank and its order. Raises ScenarioError with rank and node."""
    operations = [*_messages(trace), *_collectives(trace)]
    turns = _Try(trace, operations).run()
    known = (replace(each, turn=turns.get(id(each), -1)) for each in operations)
    return tuple(sorted(known, key=lambda each: (each.ranks[0], each.places[0])))


def _messages(trace: JobTrace) -> list[TraceOperation]:
    return [
        TraceOperation(MESSAGE, (rank, node.peer), (place,), node.bytes, tag=node.tag)
        for rank, nodes in enumerate(trace.ranks)
        for place, node in enumerate(nodes)
        if node.kind == SEND
    ]


def _collectives(trace: JobTrace) -> list[TraceOperation]:
    everyone = tuple(range(len(trace.ranks)))
    calls: dict[tuple[int, ...], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for rank, nodes in enumerate(trace.ranks):
        for place, node in enumerate(nodes):
            if node.kind not in (COMPUTE, SEND, RECV):
                calls[node.group or everyone][rank].append(place)
    operations = []
    for group, by_rank in calls.items():
        counts = {rank: len(by_rank[rank]) for rank in group}
        most = max(counts, key=lambda rank: (counts[rank], -rank))
        for number, place in enumerate(by_rank[most]):
            node = trace.ranks[most][place]
            for rank in group:
                if number >= counts[rank]:
                    raise refused(
                        trace.file, most, node, f"a collective that rank {rank} never calls",
                        found=f"{counts[rank]} calls of rank {rank}", allowed=f"{counts[most]} calls",
                    )  # fmt: skip
                other = trace.ranks[rank][by_rank[rank][number]]
                if _of_collective(other) != _of_collective(node):
                    raise refused(
                        trace.file, rank, other, f"call {number + 1} of its group differs from that of rank {most}",
                        found=_shown(other), allowed=_shown(node),
                    )  # fmt: skip
            places = tuple(by_rank[rank][number] for rank in group)
            operations.append(_collective(trace, group, places, node, most))
    return operations


def _collective(
    trace: JobTrace, group: tuple[int, ...], places: tuple[int, ...], node: TraceNode, rank: int
) -> TraceOperation:
    if node.root not in group and node.kind in ("broadcast", "reduce"):
        raise refused(
            trace.file, rank, node, "the root is not in the group", found=str(node.root), allowed=str(list(group))
        )
    root = group.index(node.root) if node.root in group else 0
    return TraceOperation(node.kind, group, places, node.bytes, root)


def _of_collective(node: TraceNode) -> tuple[str, int, int]:
    return node.kind, node.bytes, node.root


def _shown(node: TraceNode) -> str:
    return f"{node.kind} of {node.bytes} bytes, root {node.root}"


@dataclass
class _Try:
    """The trace where only computing takes time."""

    trace: JobTrace
    operations: list[TraceOperation]
    _came: list[list[TraceOperation]] = field(default_factory=list)
    """by rank: messages that no receive took"""
    _asked: list[list[int]] = field(default_factory=list)
    """by rank: receives without a message"""

    def run(self) -> dict[int, int]:
        """The turns of the collectives, by id."""
        ranks = self.trace.ranks
        self._came, self._asked = [[] for _ in ranks], [[] for _ in ranks]
        self._needs = [[len(node.after) + len(node.after_start) for node in nodes] for nodes in ranks]
        self._ended = [[False] * len(nodes) for nodes in ranks]
        self._behind: list[list[list[int]]] = [[[] for _ in nodes] for nodes in ranks]
        self._behind_start: list[list[list[int]]] = [[[] for _ in nodes] for nodes in ranks]
        for rank, nodes in enumerate(ranks):
            for place, node in enumerate(nodes):
                for other in node.after:
                    self._behind[rank][other].append(place)
                for other in node.after_start:
                    self._behind_start[rank][other].append(place)
        self._of = {
            (rank, place): each
            for each in self.operations
            for rank, place in zip(each.ranks, each.places, strict=False)
        }
        self._missing = {id(each): len(each.ranks) for each in self.operations}
        self._turns: dict[int, int] = {}
        self._now, self._numbers = 0, count()
        self._free: dict[tuple[int, int], int] = {}
        """by rank and lane: when all that is ready there will have been computed"""
        self._moments: list[tuple[int, int, str, int, int]] = []
        """a heap of (time, number, what happens then, rank, place)"""
        for rank, needs in enumerate(self._needs):
            for place, missing in enumerate(needs):
                if not missing:
                    self._plan(0, _READY, rank, place)
        while self._moments:
            self._now, _, moment, rank, place = heappop(self._moments)
            if moment == _READY:
                self._start(rank, place)
            elif moment == _RUNS:
                self._release(rank, self._behind_start[rank][place])
            else:
                self._end(rank, place)
        self._judge()
        return self._turns

    def _plan(self, at: int, moment: str, rank: int, place: int) -> None:
        heappush(self._moments, (at, next(self._numbers), moment, rank, place))

    def _start(self, rank: int, place: int) -> None:
        node = self.trace.ranks[rank][place]
        if node.kind == COMPUTE:
            begin = self._now if node.lane < 0 else max(self._now, self._free.get((rank, node.lane), 0))
            self._free[rank, node.lane] = begin + node.compute_ns
            self._plan(begin, _RUNS, rank, place)
            self._plan(begin + node.compute_ns, _ENDS, rank, place)
            return
        self._release(rank, self._behind_start[rank][place])
        if node.kind == SEND:
            self._end(rank, place)
            self._deliver(self._of[rank, place])
        elif node.kind == RECV:
            self._ask(rank, place)
        else:
            operation = self._of[rank, place]
            self._missing[id(operation)] -= 1
            if not self._missing[id(operation)]:
                self._turns[id(operation)] = len(self._turns)
                for each, own in zip(operation.ranks, operation.places, strict=True):
                    self._end(each, own)

    def _deliver(self, message: TraceOperation) -> None:
        rank = message.ranks[1]
        for place in self._asked[rank]:
            node = self.trace.ranks[rank][place]
            if fits(node.peer, node.tag, message.ranks[0], message.tag):
                self._asked[rank].remove(place)
                self._take(rank, place, message)
                return
        self._came[rank].append(message)

    def _ask(self, rank: int, place: int) -> None:
        node = self.trace.ranks[rank][place]
        for message in self._came[rank]:
            if fits(node.peer, node.tag, message.ranks[0], message.tag):
                self._came[rank].remove(message)
                self._take(rank, place, message)
                return
        self._asked[rank].append(place)

    def _take(self, rank: int, place: int, message: TraceOperation) -> None:
        node = self.trace.ranks[rank][place]
        if message.bytes > node.bytes:
            raise refused(
                self.trace.file, rank, node, f"the message of rank {message.ranks[0]} is longer than the receive",
                found=f"{message.bytes} bytes", allowed=f"at most {node.bytes} bytes",
            )  # fmt: skip
        self._end(rank, place)

    def _end(self, rank: int, place: int) -> None:
        self._ended[rank][place] = True
        self._release(rank, self._behind[rank][place])

    def _release(self, rank: int, places: list[int]) -> None:
        for place in places:
            self._needs[rank][place] -= 1
            if not self._needs[rank][place]:
                self._plan(self._now, _READY, rank, place)

    def _judge(self) -> None:
        """What cannot end, the cause first: what started and waits, before what waits for that."""
        for rank, places in enumerate(self._asked):
            for place in places:
                node = self.trace.ranks[rank][place]
                whose = "any rank" if node.peer == ANY else f"rank {node.peer}"
                raise refused(
                    self.trace.file, rank, node, f"waits for a message of {whose} that never comes",
                    found=f"recv of {node.bytes} bytes, tag {node.tag}", allowed="a send for each receive",
                )  # fmt: skip
        for rank, ended in enumerate(self._ended):
            for place, over in enumerate(ended):
                if not over:
                    raise refused(
                        self.trace.file, rank, self.trace.ranks[rank][place], "never starts or never ends",
                        found="a circle of dependencies", allowed="dependencies that lead to a first node",
                    )  # fmt: skip
        for rank, messages in enumerate(self._came):
            for message in messages:
                sender = message.ranks[0]
                node = self.trace.ranks[sender][message.places[0]]
                raise refused(
                    self.trace.file, sender, node, f"no receive of rank {rank} takes this message",
                    found=f"send of {node.bytes} bytes, tag {node.tag}", allowed="a receive for each send",
                )  # fmt: skip
