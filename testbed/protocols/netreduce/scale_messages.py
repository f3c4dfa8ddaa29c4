"""NetReduce on a rack at the level of messages: credit, links and ACKs as events, packets in closed form.

Every rank may have a link and a start of its own, so that stragglers and slow links show. What is not there: loss and
its recovery, and more than one iteration (the packet level has both).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from testbed.scale.model import RackLink
from testbed.scale.outcome import ScaleOutcome
from testbed.scale.trains import Pipe, Train, TrainFraming
from workloads.collectives.ina_header import INA_HEADER_BYTES

__all__ = ["netreduce_on_rack"]

_RECEIVED, _ACKED, _START = 0, 1, 2


def netreduce_on_rack(
    links: Sequence[RackLink],
    size_bytes: int,
    *,
    framing: TrainFraming | None = None,
    message_packets: int = 170,
    window_messages: int = 2,
    credit: str = "both",
    hello: bool = True,
    starts_ns: Sequence[float] | None = None,
) -> ScaleOutcome:
    """All-reduce of `size_bytes` among `len(links)` hosts; rank k begins at `starts_ns[k]` (default: all at 0)."""
    run = _Run(links, size_bytes, framing or TrainFraming(), message_packets, window_messages, credit, hello)
    return run.outcome(starts_ns or [0.0] * len(links))


class _Run:
    def __init__(
        self,
        links: Sequence[RackLink],
        size: int,
        framing: TrainFraming,
        packets: int,
        window: int,
        credit: str,
        hello: bool,
    ) -> None:
        self._ranks, self._window, self._credit, self._ack = len(links), window, credit, framing.ack_bytes
        room = packets * framing.path_mtu - INA_HEADER_BYTES
        full, rest = divmod(size, room)
        cut = [room] * full + ([rest] if rest else [])
        sizes = ([0] if hello else []) + cut
        self._trains: list[Train] = [framing.train(part + INA_HEADER_BYTES) for part in sizes]
        self._hello = 1 if hello else 0
        self._up = [Pipe(link.rate_bps, link.delay_ns) for link in links]
        self._down = [Pipe(link.rate_bps, link.delay_ns) for link in links]
        self._posted, self._received = [0] * self._ranks, [0] * self._ranks
        self._acked = [0] * self._ranks
        self._begun = [False] * self._ranks
        count = len(self._trains)
        self._missing = [self._ranks] * count
        self._first, self._last = [0.0] * count, [0.0] * count
        self._heap: list[tuple[float, int, int, int]] = []
        self._events = 0

    def outcome(self, starts: Sequence[float]) -> ScaleOutcome:
        heap, done = self._heap, 0.0
        for rank, start in enumerate(starts):
            heappush(heap, (start, _START, rank, 0))
        while heap:
            now, kind, rank, message = heappop(heap)
            self._events += 1
            if kind == _RECEIVED:
                self._received[rank] = message + 1
                self._answer(now, rank, message)
                done = max(done, now)
            elif kind == _ACKED:
                self._acked[rank] = message + 1
            else:
                self._begun[rank] = True
            self._post(rank, now)
        packets = sum(train.packets + train.acks for train in self._trains)
        sent = sum(train.wire_bytes for train in self._trains)
        return ScaleOutcome(done / 1e9, 2 * self._ranks * packets, self._events, float(sent))

    def _post(self, rank: int, now: float) -> None:
        """What hello, credit and send queue allow (the rules of workloads.collectives.netreduce)."""
        if not self._begun[rank]:
            return
        received, acked, message = self._received[rank], self._acked[rank], self._posted[rank]
        credit = received if self._credit == "received" else acked if self._credit == "acked" else min(received, acked)
        end = min(len(self._trains), self._window + credit, 2 * self._window + acked)
        if self._hello and not received:
            end = min(end, self._hello)
        up = self._up[rank]
        while message < end:
            train = self._trains[message]
            # Frames of a NIC are there when they are wanted: the whole train is ready at once.
            first, last = up.carry(now, now, train)
            if first > self._first[message]:
                self._first[message] = first
            if last > self._last[message]:
                self._last[message] = last
            self._missing[message] -= 1
            if not self._missing[message]:
                self._release(message, train)
            message += 1
        self._posted[rank] = message

    def _release(self, message: int, train: Train) -> None:
        """Every contribution's times are known: the results leave on all connections, packet by packet as they fill."""
        first, last = self._first[message], self._last[message]
        for rank, down in enumerate(self._down):
            _, arrived = down.carry(first, last, train)
            heappush(self._heap, (arrived, _RECEIVED, rank, message))

    def _answer(self, now: float, rank: int, message: int) -> None:
        """The ACK for the end of the message; those for its middle cost room on both links."""
        sender, more = rank - 1 if rank else self._ranks - 1, (self._trains[message].acks - 1) * self._ack
        if more > 0:
            self._up[rank].burden(now, more)
            self._down[sender].burden(now, more)
        at_switch = self._up[rank].carry_urgent(now, self._ack)
        acked = self._down[sender].carry_behind(at_switch, self._ack)
        heappush(self._heap, (acked, _ACKED, sender, message))
