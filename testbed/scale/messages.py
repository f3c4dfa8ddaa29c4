"""Point-to-point messages over links, as events: which rank may send what after which arrivals, in which order, with
how many unacknowledged. Packets are in closed form (testbed.scale.trains)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from testbed.scale.model import RackLink
from testbed.scale.outcome import ScaleOutcome
from testbed.scale.trains import Pipe, TrainFraming

__all__ = ["Message", "Path", "rack_path", "run_messages"]

Path = Callable[[int, int], tuple[Pipe, ...]]
"""(sender, receiver) -> the links on the way"""

_ENTER, _ARRIVED, _ACK, _ACKED = range(4)


@dataclass(frozen=True, slots=True)
class Message:
    sender: int
    receiver: int
    size_bytes: int
    after: tuple[int, ...] = ()
    """indices of messages that must have come to the sender before"""


def rack_path(links: Sequence[RackLink]) -> Path:
    """Host i sends up its own link and down that of the receiver."""
    up = [Pipe(link.rate_bps, link.delay_ns) for link in links]
    down = [Pipe(link.rate_bps, link.delay_ns) for link in links]
    return lambda sender, receiver: (up[sender], down[receiver])


def run_messages(
    messages: Sequence[Message],
    path: Path,
    framing: TrainFraming,
    *,
    window_messages: int | None = None,
    starts_ns: Sequence[float] = (),
) -> ScaleOutcome:
    """Send all of them. Each sender sends its own in the order of the list, at most `window_messages` unacknowledged
    (None: any number). Raises ValueError when some can never be sent."""
    ranks = 1 + max((max(item.sender, item.receiver) for item in messages), default=0)
    queues: list[list[int]] = [[] for _ in range(ranks)]
    for index, item in enumerate(messages):
        queues[item.sender].append(index)
    trains = [framing.train(item.size_bytes) for item in messages]
    ways = {pair: path(*pair) for item in messages for pair in _both(item)}
    there = [ways[item.sender, item.receiver] for item in messages]
    back = [ways[item.receiver, item.sender] for item in messages]
    here = [False] * len(messages)
    posted, acked = [0] * ranks, [0] * ranks
    starts = list(starts_ns) + [0.0] * (ranks - len(starts_ns))
    ack, window = framing.ack_bytes, window_messages or len(messages)
    heap: list[tuple[float, int, int, int, float]] = []
    packet_hops = events = 0
    done = 0.0

    def pump(rank: int, now: float) -> None:
        queue, at = queues[rank], posted[rank]
        while at < len(queue) and at - acked[rank] < window:
            index = queue[at]
            item = messages[index]
            if not all(here[needed] for needed in item.after):
                break
            move(now, index, 0, now)
            at += 1
        posted[rank] = at

    def move(now: float, index: int, hop: int, last: float) -> None:
        nonlocal packet_hops
        train, way = trains[index], there[index]
        first, last = way[hop].carry(now, last, train)
        packet_hops += train.packets
        if hop + 1 == len(way):
            heappush(heap, (last, _ARRIVED, index, 0, 0.0))
        else:
            heappush(heap, (first, _ENTER, index, hop + 1, last))

    def answer(now: float, index: int, hop: int) -> None:
        """The ACK for the end of a message enters a link; those for its middle cost room there."""
        nonlocal packet_hops
        train, way = trains[index], back[index]
        pipe = way[hop]
        if train.acks > 1:
            pipe.burden(now, (train.acks - 1) * ack)
        at = pipe.carry_behind(now, ack) if hop else pipe.carry_urgent(now, ack)
        packet_hops += train.acks
        heappush(heap, (at, _ACKED if hop + 1 == len(way) else _ACK, index, hop + 1, 0.0))

    for rank in range(ranks):
        pump(rank, starts[rank])
    while heap:
        now, kind, index, hop, last = heappop(heap)
        events += 1
        if kind == _ENTER:
            move(now, index, hop, last)
        elif kind == _ARRIVED:
            here[index] = True
            done = max(done, now)
            if ack:
                answer(now, index, 0)
            else:
                acked[messages[index].sender] += 1
                pump(messages[index].sender, now)
            pump(messages[index].receiver, now)
        elif kind == _ACK:
            answer(now, index, hop)
        else:
            acked[messages[index].sender] += 1
            pump(messages[index].sender, now)
    if not all(here):
        raise ValueError(f"{here.count(False)} messages wait for one another for ever")
    sent = [0] * ranks
    for item in messages:
        sent[item.sender] += item.size_bytes
    return ScaleOutcome(done / 1e9, packet_hops, events, float(max(sent, default=0)))


def _both(item: Message) -> tuple[tuple[int, int], tuple[int, int]]:
    return (item.sender, item.receiver), (item.receiver, item.sender)
