"""FR, TA and PN over machines of GPUs at the message level: every message of every step, no barrier between steps.

- Rings go step by step over vectors of ranks. A rank sends when the message it passes on has come and its link is
  free. Events would do the same in another order; without contention there is nothing else to decide.
- Parallel NetReduce runs message by message through a shared NIC, with a window of N messages for each of the n rings.

`representatives` machines stand for all: all machines start together, do the same and have the same links. So what the
machine in front sends is what the own one sends. None simulates all of them; a test holds both to the same times. A
link between machines is one link from NIC to NIC of latency alpha, as the cost models count; payload bytes only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from testbed.scale.outcome import ScaleOutcome
from testbed.scale.trains import PLAIN, Pipe
from workloads.costs import EqualMachines

__all__ = ["MACHINE_MESSAGES", "MessageWindow", "machine_message_level", "ring_steps"]

Seconds = NDArray[np.float64]

_MTU = 1024
_FEW_RANKS = 24


@dataclass(frozen=True, slots=True)
class MessageWindow:
    """Of each ring of PN."""

    messages: int = 2
    """N"""
    message_packets: int = 170
    """L, packets of 1024 bytes"""


def machine_message_level(
    algorithm: str,
    machines: EqualMachines,
    size_bytes: int,
    window: MessageWindow | None = None,
    representatives: int | None = 1,
) -> ScaleOutcome:
    """`algorithm` is FR, TA or PN; the window is that of PN."""
    shown = machines.machines if representatives is None else min(representatives, machines.machines)
    return MACHINE_MESSAGES[algorithm](machines, float(size_bytes), shown, window or MessageWindow())


def ring_steps(
    ready: Seconds, size_bytes: float, steps: int, seconds_per_byte: Seconds, latency: Seconds, segment: int
) -> Seconds:
    """Every rank sends `steps` messages of `size_bytes` round rings of `segment` ranks that lie side by side. From the
    second on, each message waits for the one that the rank before it sent. `ready` holds when ranks may begin -> when
    the last message came, per rank. All arrays: shape (ranks,), float64, seconds."""
    rings = ready.reshape(-1, segment)
    work = (size_bytes * seconds_per_byte).reshape(-1, segment)
    late = latency.reshape(-1, segment)
    if ready.size <= _FEW_RANKS and segment == ready.size:
        return _few_steps(ready, steps, work, late)
    came, free = rings.copy(), np.zeros_like(rings)
    for _ in range(steps):
        np.maximum(came, free, out=free)
        free += work
        np.add(free[:, :-1], late[:, :-1], out=came[:, 1:])
        np.add(free[:, -1], late[:, -1], out=came[:, 0])
    return came.reshape(-1)


def _few_steps(ready: Seconds, steps: int, work: Seconds, latency: Seconds) -> Seconds:
    """`ring_steps` for one ring of few ranks, where calls of NumPy would cost more than they do."""
    came, costs, late = ready.tolist(), work[0].tolist(), latency[0].tolist()
    free = [0.0] * len(came)
    for _ in range(steps):
        free = [(c if c > f else f) + cost for c, f, cost in zip(came, free, costs, strict=True)]
        there = [f + after for f, after in zip(free, late, strict=True)]
        came = [there[-1], *there[:-1]]
    return np.array(came)


def _flat_ring(place: EqualMachines, size: float, shown: int, window: MessageWindow) -> ScaleOutcome:
    n, ranks = place.per_machine, shown * place.per_machine
    per_byte = np.full(ranks, 8 / place.intra_bps)
    per_byte[n - 1 :: n] = 8 / place.inter_bps
    steps, chunk = 2 * (place.gpus - 1), size / place.gpus
    done = ring_steps(np.zeros(ranks), chunk, steps, per_byte, np.full(ranks, place.alpha_s), ranks)
    return ScaleOutcome(float(done.max()), steps * place.gpus * _packets(chunk), steps * ranks, steps * chunk)


def _tencent(place: EqualMachines, size: float, shown: int, window: MessageWindow) -> ScaleOutcome:
    n, count = place.per_machine, place.machines
    train = PLAIN.train(int(size))

    def chain() -> float:
        first = last = 0.0
        for _ in range(n - 1):
            first, last = Pipe(place.intra_bps, place.inner_alpha_s * 1e9).carry(first, last, train)
        return last / 1e9

    steps, share = 2 * (count - 1), size / count
    begin = np.full(shown, chain())
    done = ring_steps(begin, share, steps, np.full(shown, 8 / place.inter_bps), np.full(shown, place.alpha_s), shown)
    hops = steps * count * _packets(share) + 2 * (n - 1) * count * train.packets
    return ScaleOutcome(float(done.max()) + chain(), hops, steps * shown + 2 * n, steps * share + size)


def _parallel_netreduce(place: EqualMachines, size: float, shown: int, window: MessageWindow) -> ScaleOutcome:
    n, ranks = place.per_machine, shown * place.per_machine
    piece, inner = size / n, (np.full(ranks, 8 / place.intra_bps), np.full(ranks, place.inner_alpha_s))
    scattered = ring_steps(np.zeros(ranks), piece, n - 1, *inner, n)
    summed, events = _rings_on_nics(place, int(piece), scattered.reshape(shown, n), window)
    done = ring_steps(summed.reshape(-1), piece, n - 1, *inner, n)
    hops = place.machines * n * _packets(piece) * 2 * n
    return ScaleOutcome(float(done.max()), hops, events + 2 * (n - 1) * ranks, 2 * (n - 1) * piece + piece)


def _rings_on_nics(place: EqualMachines, piece: int, ready: Seconds, window: MessageWindow) -> tuple[Seconds, int]:
    """`ready` (machines, n): when each GPU may send its piece -> when it has the sum, and events handled."""
    count, n = ready.shape
    half_ns = place.netreduce_alpha_s * 1e9 / 2
    up = [Pipe(place.inter_bps, half_ns) for _ in range(count)]
    down = [Pipe(place.inter_bps, half_ns) for _ in range(count)]
    room = window.message_packets * _MTU
    sizes = [min(room, piece - start) for start in range(0, piece, room)]
    trains = [PLAIN.train(part) for part in sizes]
    posted = [[0] * n for _ in range(count)]
    gathered: dict[tuple[int, int], tuple[float, float, int]] = {}
    done, events = ready.copy(), 0
    # (time, turn, ring, machine): rings take turns with the messages of their first window
    heap = [
        (float(ready[machine, ring]) * 1e9, turn, ring, machine)
        for turn in range(min(window.messages, len(trains)))
        for machine in range(count)
        for ring in range(n)
    ]
    heap.sort()
    while heap:
        now, turn, ring, machine = heappop(heap)
        events += 1
        if turn < 0:
            done[machine, ring] = now / 1e9
        index = posted[machine][ring]
        if index == len(trains):
            continue
        posted[machine][ring] = index + 1
        first, last = up[machine].carry(now, now, trains[index])
        before = gathered.pop((ring, index), (0.0, 0.0, 0))
        first, last, there = max(first, before[0]), max(last, before[1]), before[2] + 1
        if there < count:
            gathered[ring, index] = first, last, there
            continue
        for other in range(count):
            _, arrived = down[other].carry(first, last, trains[index])
            heappush(heap, (arrived, -1, ring, other))
    return done, events


def _packets(size: float) -> int:
    return max(1, -(-int(size) // _MTU))


MACHINE_MESSAGES: Mapping[str, Callable[[EqualMachines, float, int, MessageWindow], ScaleOutcome]] = {
    "FR": _flat_ring, "TA": _tencent, "PN": _parallel_netreduce,
}  # fmt: skip
