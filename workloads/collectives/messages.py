"""The messages of one rank in one operation of a mesh, and what each of them waits for.

Rules of this file
- A block travels in several messages, so that a rank can pass on the first while the others still come.
- A message is read from the rank's own vector, until something came for its place; then from the result.
- What is read from the result waits until the last message before it was taken into that place.
- What comes is taken into its place behind what came before, and when the messages that read this place are
  acknowledged: a retransmission reads it again.
- A block waits until the blocks of earlier steps to other ranks are acknowledged: a tree serves its largest branch
  first.
- A swap begins a step when its messages of the steps before came and are acknowledged: no link gets two blocks at once.
- Blocks that share a place are cut alike. So a place is known by its first byte.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from workloads.collectives.moves import ADD, SIGNAL, SWAP, message_bounds, moves_of
from workloads.config import ELEMENT_BYTES, MeshTask, WorkerConfig

__all__ = [
    "LONGEST_PACKETS",
    "OwnMessage",
    "RankMessages",
    "TakenMessage",
    "channel_packets",
    "longest_message",
    "messages_of",
]

LONGEST_PACKETS, _PIECES_PER_BLOCK, _LEAST_PACKETS = 64, 8, 16
Marks = tuple[tuple[int, int], ...]
"""(place of a peer, number of messages of its connection in this operation) of everything that must be over before"""


@dataclass(frozen=True, slots=True)
class OwnMessage:
    start: int
    """bytes of the own vector or the result"""
    stop: int
    from_result: bool
    after: Marks
    """messages that must have been taken in"""
    acked: Marks = ()
    """own messages that must be acknowledged"""


@dataclass(frozen=True, slots=True)
class TakenMessage:
    start: int
    """bytes of the result"""
    stop: int
    adds: bool
    to_own: bool
    """what it is added to is the own vector; else it is the result"""
    after: Marks
    """messages that must have been taken in"""
    acked: Marks
    """own messages that must be acknowledged"""


@dataclass(frozen=True, slots=True)
class RankMessages:
    """By place of the peer, in the order of the connection."""

    sends: dict[int, tuple[OwnMessage, ...]]
    takes: dict[int, tuple[TakenMessage, ...]]


class _Ledger:
    """What happened so far, step by step."""

    def __init__(self) -> None:
        self.sends: defaultdict[int, list[OwnMessage]] = defaultdict(list)
        self.takes: defaultdict[int, list[TakenMessage]] = defaultdict(list)
        self._filled: dict[int, tuple[int, int]] = {}
        """by first byte of the result: the last message taken in there"""
        self._read: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        """by first byte of the result: own messages that read there"""
        self._signals: dict[int, tuple[int, int]] = {}
        """by peer: its last signal"""
        self._over: dict[int, int] = {}
        """by peer: messages taken in the steps before"""
        self._given: dict[int, int] = {}
        """by peer: messages sent in the steps before"""
        self._later: list[tuple[dict[int, tuple[int, int]], int, tuple[int, int]]] = []

    def begin_step(self) -> None:
        for known, key, mark in self._later:
            known[key] = mark
        self._later.clear()
        self._over = {peer: len(takes) for peer, takes in self.takes.items()}
        self._given = {peer: len(sends) for peer, sends in self.sends.items()}

    def send(self, peer: int, start: int, stop: int, kind: str) -> None:
        number, after = len(self.sends[peer]) + 1, set[tuple[int, int]]()
        if kind == SIGNAL:
            self.sends[peer].append(OwnMessage(0, 0, False, tuple(sorted(self._over.items()))))
            return
        if kind == SWAP:
            over, given = (tuple(sorted(each.items())) for each in (self._over, self._given))
            self.sends[peer].append(OwnMessage(start, stop, False, over, given))
            return
        if peer in self._signals:
            after.add(self._signals[peer])
        from_result = start in self._filled
        if from_result:
            after.add(self._filled[start])
            self._read[start].append((peer, number))
        before = tuple(sorted((other, number) for other, number in self._given.items() if other != peer))
        self.sends[peer].append(OwnMessage(start, stop, from_result, tuple(sorted(after)), before))

    def take(self, peer: int, start: int, stop: int, kind: str) -> None:
        number = len(self.takes[peer]) + 1
        if kind == SIGNAL:
            self.takes[peer].append(TakenMessage(0, 0, False, False, (), ()))
            self._later.append((self._signals, peer, (peer, number)))
            return
        before = self._filled.get(start)
        after = () if before is None else (before,)
        acked = tuple(self._read[start])
        self.takes[peer].append(TakenMessage(start, stop, kind == ADD, before is None, after, acked))
        self._later.append((self._filled, start, (peer, number)))


@lru_cache(maxsize=32)
def messages_of(task: MeshTask, place: int, elements: int, length: int) -> RankMessages:
    """Of the rank at `place` of the task's group, for a vector of `elements`. `length`: bytes of the longest
    message."""
    ledger = _Ledger()
    for _, step in groupby(moves_of(task, place, elements), key=lambda move: move.step):
        ledger.begin_step()
        for move in step:
            first = move.start if move.source == place else move.into
            note, peer = (ledger.send, move.target) if move.source == place else (ledger.take, move.source)
            for start, stop in message_bounds(first, move.elements, length) or [(0, 0)]:
                note(peer, start, stop, move.kind)
    return RankMessages(
        {peer: tuple(sends) for peer, sends in ledger.sends.items()},
        {peer: tuple(takes) for peer, takes in ledger.takes.items()},
    )


def longest_message(message_packets: int, path_mtu: int, elements: int, size: int) -> int:
    """Bytes of the longest message of an operation with vectors of `elements` among `size` ranks: a block goes in eight
    messages, but none is cut to less than 16 packets, nor is any longer than `message_packets` or 64."""
    packets = -(-elements * ELEMENT_BYTES // (path_mtu * size * _PIECES_PER_BLOCK))
    return min(max(_LEAST_PACKETS, packets), message_packets, LONGEST_PACKETS) * path_mtu


def channel_packets(worker: WorkerConfig, number: int) -> tuple[int, ...]:
    """Packets of each message of a job that this rank sends on its connection `number` of a mesh. A mesh next to a
    collective has none that are known before."""
    config = worker.collective
    task = config.task
    if task is None:
        return ()
    peer, elements, mtu = number + (number >= config.rank), worker.workload.elements, worker.to_successor.path_mtu
    length = longest_message(config.message_packets, mtu, elements, config.size)
    sends = messages_of(task, config.rank, elements, length).sends.get(peer, ())
    return tuple(max(1, -(-(item.stop - item.start) // mtu)) for item in sends) * worker.workload.iterations
