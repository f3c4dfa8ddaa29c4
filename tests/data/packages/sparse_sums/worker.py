"""A worker: it sends the blocks of its gradient that it keeps, and waits for the sums of those that anybody keeps."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparse_sums.header import ASK, BLOCK, OVERHEAD, PLAN, SUM, UNION, Packet, decode, encode
from workloads.config import Framing, JobShare, WorkloadConfig
from workloads.datagrams.training import Training
from workloads.events import CollectiveStarted, DatagramResent, DatagramStatistics
from workloads.gradients import source_of
from workloads.machine import Buffer, Event
from workloads.wire.envelope import Envelope


@dataclass(frozen=True, slots=True)
class SparseConfig:
    name: str
    collective: JobShare
    workload: WorkloadConfig
    envelope: Envelope
    elements: int
    window: int
    patience_ns: int

    @property
    def group(self) -> int:
        return self.collective.job

    @property
    def sends(self) -> tuple[Envelope, ...]:
        return (self.envelope,)

    @property
    def framing(self) -> Framing:
        return Framing(4 * self.elements, OVERHEAD + 4 * self.elements)

    def create(self, start_ns: int) -> "SparseWorker":
        return SparseWorker(self, start_ns)

    def reborn(self, lives: int) -> "SparseConfig":
        return self


def blocks_in(elements: int, of: int) -> int:
    return -(-elements // of)


def kept(gradient: NDArray[np.generic], of: int) -> list[bool]:
    """By block whether it is sent: where its first element is not negative. The data alone says so."""
    return [bool(gradient[at] >= 0) for at in range(0, gradient.size, of)]


class SparseWorker:
    def __init__(self, config: SparseConfig, start_ns: int) -> None:
        self.config, share = config, config.collective
        self.training = Training.of(config.workload, source_of(config), share.rank, start_ns)
        self.job, self.rank = share.job, share.rank
        self.own: list[bool] = []
        self.wanted: list[int] | None = None
        """blocks whose sums are missing; None: the union is missing"""
        self.running = False
        self.deadlines: dict[int, int] = {}
        self.attempts: dict[int, int] = {}
        """-1: the plan"""
        self.first_block = 0
        self.queue: list[bytes] = []
        self.counts = dict.fromkeys(("sent", "again", "sums", "twice", "expired", "odd"), 0)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        packet = decode(frame)
        if packet is None or packet.job != self.job or packet.kind not in (UNION, SUM):
            return
        if packet.kind == UNION:
            if self.running and self.wanted is None and packet.number == self.training.iteration:
                self.wanted = [
                    number for number in range(len(self.own)) if packet.payload[number // 8] >> number % 8 & 1
                ]
                self.deadlines.clear()
                self.go_on(now)
            return
        number = packet.number - self.first_block
        if not self.running or self.wanted is None or number not in self.wanted:
            self.counts["twice"] += 1
            return
        of, result = self.config.elements, self.training.result
        self.counts["sums"] += 1
        values = np.frombuffer(packet.payload, result.dtype.newbyteorder(">"))
        if len(values) != min(of, result.size - number * of):
            self.counts["odd"] += 1
            return
        result[number * of : number * of + len(values)] = values
        self.wanted.remove(number)
        self.deadlines.pop(number, None)
        self.go_on(now)

    def go_on(self, now: int) -> None:
        """Send what the window allows; end when all is there."""
        assert self.wanted is not None, "the union is there"
        if not self.wanted:
            self.running = False
            self.first_block += len(self.own)
            self.training.complete(now)
            return
        for number in self.wanted[: self.config.window]:
            if number not in self.deadlines:
                if self.own[number]:
                    self.send(number, now)
                self.deadlines[number] = now + self.config.patience_ns

    def send(self, number: int, now: int) -> None:
        """A block, a question for its sum, or with -1 the plan."""
        attempt = self.attempts[number] = self.attempts.get(number, 0) + 1
        self.counts["sent"] += 1
        if attempt > 1:
            self.counts["again"] += 1
            block = self.first_block + max(number, 0)
            self.training.events.append(DatagramResent(self.job, block, max(number, 0), "timeout", attempt - 1))
        of, gradient = self.config.elements, self.training.gradient
        if number < 0:
            bits = np.packbits(self.own, bitorder="little").tobytes()
            payload = self.first_block.to_bytes(4, "big") + bits
            packet = Packet(PLAN, attempt, self.rank, self.job, self.training.iteration, payload)
        elif self.own[number]:
            values = gradient[number * of : (number + 1) * of]
            payload = values.astype(values.dtype.newbyteorder(">")).tobytes()
            packet = Packet(BLOCK, attempt, self.rank, self.job, self.first_block + number, payload)
        else:
            packet = Packet(ASK, attempt, self.rank, self.job, self.first_block + number, b"")
        self.queue.append(encode(self.config.envelope, packet))

    def frames_to_send(self, now: int) -> list[tuple[int, bytes]]:
        frames, self.queue = self.queue, []
        return [(0, frame) for frame in frames]

    def get_timer(self) -> int | None:
        known = [at for at in (self.training.get_timer(), *self.deadlines.values()) if at is not None]
        return min(known, default=None)

    def handle_timer(self, now: int) -> None:
        if self.training.handle_timer(now):
            gradient = self.training.gradient
            self.own, self.wanted, self.running = kept(gradient, self.config.elements), None, True
            self.training.result[:] = 0
            self.attempts.clear()
            self.deadlines.clear()
            of_iteration = CollectiveStarted(self.training.iteration, gradient.nbytes, len(self.own))
            self.training.events.append(of_iteration)
            self.send(-1, now)
            self.deadlines[-1] = now + self.config.patience_ns
        for number in [number for number, at in self.deadlines.items() if at <= now]:
            self.counts["expired"] += 1
            self.send(number, now)
            self.deadlines[number] = now + self.config.patience_ns

    def next_event(self) -> Event | None:
        return self.training.events.popleft() if self.training.events else None

    def finish(self, now: int) -> None:
        count = self.counts
        self.training.events.append(
            DatagramStatistics(
                self.job, count["sent"], count["again"], count["sums"], count["twice"], count["expired"], count["odd"]
            )
        )
