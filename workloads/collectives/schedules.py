"""What each rank of a ring sends, step by step: ring all-reduce, its two halves, and chains.

The connection of every transfer is the one to the successor; in step s+1 a rank sends what it received in step s.

| kind | gradient in | step s of rank r sends | ends with |
|---|---|---|---|
| ring | P chunks | chunk (r - s) mod P, s = 0 .. 2P-3 | every rank has all sums |
| reduce_scatter | P chunks | the same, s = 0 .. P-2 | rank r has the sum of chunk (r + 1) mod P |
| all_gather | P chunks | the same, s = P-1 .. 2P-3 | every rank has every chunk |
| ring_reduce_scatter | P chunks | chunk (r - 1 - s) mod P, s = 0 .. P-2 | rank r has the sum of chunk r |
| ring_all_gather | P chunks | the same, s = P-1 .. 2P-3; rank r begins with chunk r | every rank has every chunk |
| chain_reduce | one | all of it, s = r < P-1 | rank P-1 has the sum |
| chain_broadcast | one | all of it, s = r < P-1 | every rank has what rank 0 had |
| collect, P = 2 | one | all of it, s = r = 0 | rank 1 has what rank 0 had, in addition to its own |
| ready, P = 2 | one | all of it, s = r = 0 | rank 1 knows that rank 0 has come so far |
| exchange, P = 2 | one | all of it, s = 0 | both ranks have the sum |
| swap, P = 2 | one | all of it, s = 0 | each rank has what the other had, which may be longer or shorter |
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, repeat
from typing import NamedTuple, overload

from workloads.config import ELEMENT_BYTES, CollectiveConfig

__all__ = [
    "CHAINS",
    "RingSchedule",
    "Transfer",
    "chunk_bounds",
    "gathers",
    "longest_packets",
    "ring_packets",
    "ring_schedule",
]

_PIECES_PER_CHUNK = 8
_LEAST_PACKETS = 16
"""a message is not cut shorter for pipelining: its headers and its ACK would cost more"""
CHAINS = ("chain_reduce", "chain_broadcast", "collect", "ready")
"""go from rank to rank one way, each message as soon as it can"""
_HANDED_ON = ("chain_broadcast", "collect", "ready", "swap")
_OF_A_JOB = "ring_"
"""begins the kinds of a half that is a whole job: rank r owns chunk r, as MPI and NCCL have it"""
_SINGLE = ("exchange", "swap")
_WHOLE = (*CHAINS, *_SINGLE)
"""do not cut the gradient into chunks"""


@dataclass(frozen=True, slots=True)
class Transfer:
    """One message of the schedule."""

    step: int
    chunk: int
    start: int
    """bytes of the gradient"""
    stop: int
    packets: int


class _Cut(NamedTuple):
    """The messages of all chunks."""

    pieces: tuple[tuple[tuple[int, int, int], ...], ...]
    """(start, stop, packets) of each message, by chunk"""
    stride: int
    """most messages of a chunk"""
    bounds: array[int]
    """start and stop of piece i of chunk c at 2 * (c * `stride` + i)"""
    lengths: tuple[int, ...]
    """bytes of a message"""


class RingSchedule(Sequence[Transfer]):
    """What a rank sends in one iteration, in order. Each message is two numbers here, not an object: a ring of a
    thousand ranks has millions."""

    def __init__(self, steps: Iterable[tuple[int, int]], cut: _Cut, behind: int) -> None:
        """`steps`: (step, chunk), each step before `behind`."""
        pieces = self._pieces = cut.pieces
        self.bounds, self.lengths = cut.bounds, cut.lengths
        """first and last-plus-one byte of the message at each of `_places`, and all lengths that there are"""
        self.steps = array("i")
        """step of each message"""
        self._places = array("i")
        """chunk * `_stride` + piece, of each message"""
        self._stride = cut.stride
        for step, chunk in steps:
            count, first = len(pieces[chunk]), chunk * self._stride
            self.steps.extend(repeat(step, count))
            self._places.extend(range(first, first + count))
        self.firsts = array("i", [bisect_left(self.steps, step) for step in range(behind + 1)])
        """by step: number of messages of the steps before"""

    @property
    def arrays(self) -> tuple[array[int], array[int], array[int]]:
        """As compiled code reads them: step and place of each message, and `firsts`."""
        return self.steps, self._places, self.firsts

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, index: int) -> Transfer: ...
    @overload
    def __getitem__(self, index: slice) -> list[Transfer]: ...
    def __getitem__(self, index: int | slice) -> Transfer | list[Transfer]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        chunk, piece = divmod(self._places[index], self._stride)
        return Transfer(self.steps[index], chunk, *self._pieces[chunk][piece])

    def span(self, index: int) -> tuple[int, int]:
        """Bytes start..stop-1 of the gradient that the message carries."""
        chunk, piece = divmod(self._places[index], self._stride)
        start, stop, _ = self._pieces[chunk][piece]
        return start, stop


def chunk_bounds(elements: int, size: int) -> list[tuple[int, int]]:
    """Byte ranges of `size` chunks: the first `elements % size` hold one element more."""
    least, more = divmod(elements, size)
    starts = [(least * chunk + min(chunk, more)) * ELEMENT_BYTES for chunk in range(size + 1)]
    return list(pairwise(starts))


def gathers(config: CollectiveConfig, step: int) -> bool:
    """Whether what goes in `step` is final (it replaces what the receiver holds), not a partial sum to be added to."""
    return config.kind in _HANDED_ON or (config.kind != "chain_reduce" and step >= config.size - 1)


def ring_schedule(config: CollectiveConfig, rank: int, elements: int, path_mtu: int) -> RingSchedule:
    """What `rank` sends in one iteration, in order; empty chunks need no message."""
    return _transfers(config.kind, config.size, config.message_packets, config.pipelined, rank, elements, path_mtu)


@lru_cache(maxsize=2)
def _transfers(
    kind: str, size: int, message_packets: int, pipelined: bool, rank: int, elements: int, path_mtu: int
) -> RingSchedule:
    """The caller asks for one rank after the other, and for each rank again as the predecessor of its successor. Two
    cached schedules suffice, so a ring of a thousand ranks holds each schedule once."""
    cut = _cut(kind, size, message_packets, pipelined, elements, path_mtu)
    return RingSchedule(_steps(kind, size, rank), cut, 2 * size)


@lru_cache(maxsize=2)
def _cut(kind: str, size: int, message_packets: int, pipelined: bool, elements: int, path_mtu: int) -> _Cut:
    found = []
    for first, last in chunk_bounds(elements, 1 if kind in _WHOLE else size):
        packets = -(-(last - first) // path_mtu)
        length = _message_packets(kind, message_packets, pipelined, packets) * path_mtu
        stops = [(start, min(start + length, last)) for start in range(first, last, length)]
        found.append(tuple((start, stop, -(-(stop - start) // path_mtu)) for start, stop in stops))
    stride = max(map(len, found), default=0)
    bounds = array("q", bytes(2 * stride * len(found) * array("q").itemsize))
    for chunk, pieces in enumerate(found):
        for place, (start, stop, _) in enumerate(pieces, chunk * stride):
            bounds[2 * place], bounds[2 * place + 1] = start, stop
    lengths = {stop - start for pieces in found for start, stop, _ in pieces}
    return _Cut(tuple(found), stride, bounds, tuple(sorted(lengths)))


def longest_packets(config: CollectiveConfig, elements: int, path_mtu: int) -> int:
    """Packets of the longest message that any rank sends: all ranks have slots of one size."""
    first, last = chunk_bounds(elements, 1 if config.kind in _WHOLE else config.size)[0]
    packets = -(-(last - first) // path_mtu)
    return max(1, min(packets, _message_packets(config.kind, config.message_packets, config.pipelined, packets)))


def most_messages(config: CollectiveConfig, elements: int, path_mtu: int) -> int:
    """Most messages of one iteration over one connection, whichever rank sends."""
    first, last = chunk_bounds(elements, 1 if config.kind in _WHOLE else config.size)[0]
    return len(_steps(config.kind, config.size, 0)) * -(
        -(last - first) // (longest_packets(config, elements, path_mtu) * path_mtu)
    )


def ring_packets(config: CollectiveConfig, elements: int, iterations: int, path_mtu: int) -> tuple[int, ...]:
    """Packets of each message of the connection from rank `config.rank`."""
    kind, size = config.kind, config.size
    cut = _cut(kind, size, config.message_packets, config.pipelined, elements, path_mtu)
    packets = [tuple(number for _, _, number in chunk) for chunk in cut.pieces]
    return tuple(number for _, chunk in _steps(kind, size, config.rank) for number in packets[chunk]) * iterations


def _steps(kind: str, size: int, rank: int) -> list[tuple[int, int]]:
    """(step, chunk) of all that `rank` sends"""
    if kind in CHAINS:
        return [(rank, 0)] if rank < size - 1 else []
    if kind in _SINGLE:
        return [(0, 0)]
    half = kind.removeprefix(_OF_A_JOB)
    first = size - 1 if half == "all_gather" else 0
    behind = size - 1 if half == "reduce_scatter" else 2 * size - 2
    turned = rank if half == kind else rank - 1
    return [(step, (turned - step) % size) for step in range(first, behind)]


def _message_packets(kind: str, most: int, pipelined: bool, packets: int) -> int:
    """Most packets of a message of a chunk of `packets` packets; `most`: of any message. In a chain the last rank waits
    for a message of each rank before it. So chains use short messages."""
    if kind in CHAINS:
        return min(most, _LEAST_PACKETS)
    if not pipelined:
        return most
    return min(most, max(_LEAST_PACKETS, -(-packets // _PIECES_PER_CHUNK)))
