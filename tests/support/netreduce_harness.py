"""A bench that feeds one switch program by hand, and model hosts around it; the frames are those of `netreduce_job`.

The hosts are a second, much smaller opinion on RC (go-back-N, one NAK per gap, cumulative ACKs) than `workloads.rc`:
flat packet indices instead of PSNs, no timers but those that a test fires.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from switch_nodes.config import SwitchConfig
from switch_nodes.events import MessageAggregated, PacketIgnored, SlotsAtEnd
from switch_nodes.netreduce.program import NetReduceProgram
from tests.support.netreduce_job import Job, small_job
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.machine import Event
from workloads.wire import (
    Nak,
    Opcode,
    Packet,
    decode_packet,
    icrc_is_valid,
    psn_add,
    psn_diff,
)

__all__ = ["Bench", "Job", "MakeProgram", "ModelHost", "Network", "scramble", "small_job"]

MakeProgram = Callable[[SwitchConfig], NetReduceProgram]


class Bench:
    """One program, fed by hand. `sent` and `events` hold what came out since they were last taken."""

    def __init__(self, job: Job, make: MakeProgram = NetReduceProgram, **config: object) -> None:
        self.job, self.make, self.options = job, make, config
        self.program = make(job.config(**config))
        self.events: list[Event] = []
        self.fed: list[bytes] = []
        self.emitted: list[tuple[int, bytes]] = []

    def feed(self, frame: bytes, port: int) -> list[tuple[int, bytes]]:
        """(port, frame) of everything that left because of it"""
        self.fed.append(frame)
        self.program.receive_frame(port, frame, 0)
        sent = [(out, bytes(data)) for out, data in self.program.frames_to_send(0)]
        while (event := self.program.next_event()) is not None:
            self.events.append(event)
        self.emitted += sent
        return sent

    def data(self, rank: int, message: int, offset: int, **changes: object) -> list[tuple[int, int, int]]:
        """Feed one packet. Returns (rank of the connection, message, offset) of each correct result that left; anything
        else that leaves is an AssertionError."""
        frame = self.job.frame(rank, message, offset, **changes)
        return [self.identify(port, data) for port, data in self.feed(frame, self.job.port(rank))]

    def identify(self, port: int, frame: bytes) -> tuple[int, int, int]:
        """Which correct result a frame is."""
        job, packet = self.job, decode_packet(frame)
        assert packet is not None, "not RoCE v2"
        assert icrc_is_valid(frame), "a frame left with a wrong iCRC"
        assert packet.info.is_request, f"the switch sent a {Opcode(packet.bth.opcode).name}"
        rank = packet.bth.dest_qpn - job.base_qpn
        assert port == job.port((rank + 1) % job.size), f"connection {rank} does not lead to port {port}"
        for message, offset in job.places():
            if job.psn(rank, message, offset) == packet.bth.psn:
                kept = INA_HEADER_BYTES if offset == 0 else 0
                assert bytes(packet.payload[:kept]) == (job.header(rank, message) if kept else b"")
                assert bytes(packet.payload[kept:]) == job.value(message, offset), f"wrong sum at {message, offset}"
                return rank, message, offset
        raise AssertionError(f"PSN {packet.bth.psn:#x} was never sent on connection {rank}")

    def everyone(self, message: int, offset: int, but: Sequence[int] = ()) -> list[tuple[int, int, int]]:
        """Feed the packet of every rank, those in `but` excepted."""
        return [out for rank in range(self.job.size) if rank not in but for out in self.data(rank, message, offset)]

    def run_through(self, upto: int) -> None:
        """All ranks send all messages before `upto`, and the right results leave."""
        for message in range(upto):
            for offset in range(self.job.lengths[message]):
                assert self.everyone(message, offset) == self.all_of(message, offset)

    def run_after(self, start: int) -> None:
        """All ranks send all messages from `start` on, and the right results leave."""
        for message in range(start, len(self.job.lengths)):
            for offset in range(self.job.lengths[message]):
                assert self.everyone(message, offset) == self.all_of(message, offset)

    def all_of(self, *place: int) -> list[tuple[int, int, int]]:
        return [(rank, *place) for rank in range(self.job.size)]  # type: ignore[misc]

    def take(self, kind: type[Event]) -> list[Event]:
        """Events of one kind so far; they are forgotten."""
        taken = [event for event in self.events if type(event) is kind]
        self.events = [event for event in self.events if type(event) is not kind]
        return taken

    def reasons(self) -> list[str]:
        return [event.reason for event in self.take(PacketIgnored)]  # type: ignore[attr-defined]

    def counters(self) -> dict[str, int]:
        return self.program.counters


@dataclass
class ModelHost:
    """One host: sender of connection `rank`, receiver of connection `rank` - 1. Flat indices count packets."""

    job: Job
    rank: int
    una: int = 0
    nxt: int = 0
    expected: int = 0
    nak_sent: bool = False
    transmissions: Counter[int] = field(default_factory=Counter)
    went_back: int = 0

    def __post_init__(self) -> None:
        self.places = self.job.places()
        self.ends = [sum(self.job.lengths[: m + 1]) for m in range(len(self.job.lengths))]

    def _messages_in(self, packets: int) -> int:
        return sum(end <= packets for end in self.ends)

    def can_send(self) -> bool:
        """Credit: message m may start iff m < N + min(received, acked); nothing before the hello's result."""
        if self.nxt >= len(self.places):
            return False
        message = self.places[self.nxt][0]
        credit = min(self._messages_in(self.expected), self._messages_in(self.una))
        return message < (credit + self.job.window if credit or not self.job.hello else 1)

    def send(self) -> bytes:
        message, offset = self.places[self.nxt]
        self.transmissions[self.nxt] += 1
        self.nxt += 1
        return self.job.frame(self.rank, message, offset)

    def timeout(self) -> None:
        self.went_back += self.nxt > self.una
        self.nxt = self.una

    def receive(self, frame: bytes) -> Iterator[bytes]:
        """Answers to one frame; AssertionError when it carries a wrong sum."""
        if not icrc_is_valid(frame):
            return
        packet = decode_packet(frame)
        assert packet is not None
        if packet.aeth is not None:
            self._answered(packet)
            return
        job, source = self.job, (self.rank - 1) % self.job.size
        assert packet.bth.dest_qpn == job.qpn(source)
        index = self.expected + psn_diff(packet.bth.psn, psn_add(job.first_psn(source), self.expected))
        if index > self.expected:
            if not self.nak_sent:
                self.nak_sent = True
                yield self._answer(source, self.expected, Nak.PSN_SEQUENCE)
            return
        if index == self.expected:
            message, offset = self.places[index]
            assert frame == job.result(source, message, offset), (
                f"wrong result {message, offset} on connection {source}"
            )
            self.nak_sent = False
            self.expected += 1
        yield self._answer(source, self.expected - 1, 0x1F)

    def _answer(self, source: int, index: int, syndrome: int) -> bytes:
        psn = psn_add(self.job.first_psn(source), index)
        return self.job.answer(source, psn, self._messages_in(self.expected), syndrome)

    def _answered(self, packet: Packet) -> None:
        assert packet.aeth is not None
        index = self.una + psn_diff(packet.bth.psn, psn_add(self.job.first_psn(self.rank), self.una))
        nak = packet.aeth.syndrome == Nak.PSN_SEQUENCE
        self.una = max(self.una, index if nak else index + 1)
        self.nxt = max(self.nxt, self.una)
        if nak and self.nxt > self.una:
            self.timeout()

    @property
    def finished(self) -> bool:
        return self.una == self.expected == len(self.places)


class Network:
    """Model hosts on FIFO links around one program; a test moves, loses, copies and swaps frames on the links."""

    def __init__(self, job: Job, make: MakeProgram = NetReduceProgram, **config: object) -> None:
        self.job = job
        self.bench = Bench(job, make, **config)
        self.hosts = [ModelHost(job, rank) for rank in range(job.size)]
        self.up: list[deque[bytes]] = [deque() for _ in self.hosts]
        self.down: list[deque[bytes]] = [deque() for _ in self.hosts]
        self._entered: Counter[bytes] = Counter()
        self._headers: set[bytes] = set()

    def send(self, rank: int) -> None:
        if self.hosts[rank].can_send():
            self.up[rank].append(self.hosts[rank].send())

    def deliver_up(self, rank: int) -> None:
        if self.up[rank]:
            self.into_switch(rank, self.up[rank].popleft())

    def into_switch(self, rank: int, frame: bytes) -> None:
        packet = decode_packet(frame)
        assert packet is not None
        if packet.info.is_request and icrc_is_valid(frame):
            self._headers.add(_headers_of(frame, packet))
        else:
            self._entered[frame] += 1
        for port, sent in self.bench.feed(frame, self.job.port(rank)):
            self._check_transparency(sent)
            self.down[port - self.job.first_port].append(sent)

    def _check_transparency(self, sent: bytes) -> None:
        packet = decode_packet(sent)
        assert packet is not None
        if packet.info.is_request:
            assert _headers_of(sent, packet) in self._headers, "a data packet left with headers that never came in"
        else:
            self._entered[sent] -= 1
            assert self._entered[sent] >= 0, "the switch originated an answer"

    def deliver_down(self, rank: int) -> None:
        if self.down[rank]:
            self.up[rank].extend(self.hosts[rank].receive(self.down[rank].popleft()))

    def step(self) -> bool:
        """Move everything once, without faults. False when nothing moved."""
        moved = False
        for rank in range(self.job.size):
            while self.hosts[rank].can_send():
                self.send(rank)
                moved = True
        for rank in range(self.job.size):
            while self.up[rank]:
                self.deliver_up(rank)
                moved = True
        for rank in range(self.job.size):
            while self.down[rank]:
                self.deliver_down(rank)
                moved = True
        return moved

    def step_with_losses(self, results: set[bytes]) -> None:
        """As `step`, but each of these result frames is lost on its way to its host, once; it leaves the set."""
        for rank in range(self.job.size):
            while self.hosts[rank].can_send():
                self.send(rank)
            while self.up[rank]:
                self.deliver_up(rank)
        for rank, link in enumerate(self.down):
            for frame in [frame for frame in link if frame in results]:
                link.remove(frame)
                results.discard(frame)
            while link:
                self.deliver_down(rank)

    def settle(self, rounds: int = 400) -> None:
        """Without faults from here on: everything completes, timers fire when nothing moves."""
        for _ in range(rounds):
            if self.step():
                continue
            if all(host.finished for host in self.hosts):
                return
            for host in self.hosts:
                host.timeout()
        raise AssertionError(f"no progress: {[(host.una, host.expected) for host in self.hosts]}")

    def check_end(self) -> None:
        """Everything arrived, nothing is left, everything counted once."""
        assert all(host.finished for host in self.hosts)
        counters = self.bench.counters()
        assert counters["overrun"] == counters["mismatch"] == counters["length"] == 0
        told = {event.message: event for event in self.bench.events if isinstance(event, MessageAggregated)}
        assert sorted(told) == list(range(len(self.job.lengths)))
        for message, packets in enumerate(self.job.lengths):
            assert told[message].packets == packets
            assert told[message].contributions == (packets,) * self.job.size, "a contribution was not counted once"
        self.bench.program.finish(0)
        (end,) = [event for event in iter(self.bench.program.next_event, None) if isinstance(event, SlotsAtEnd)]
        assert end.open == 0
        assert 0 < end.peak_occupied <= end.slots == 2 * self.job.window * self.job.message_packets


def _headers_of(frame: bytes, packet: Packet) -> bytes:
    """Everything before the payload but ToS and IPv4 header checksum, which a switch may change."""
    at = frame.index(bytes(packet.bth.encode()[4:])) + 8
    at += sum(len(getattr(packet, name).encode()) for name in packet.info.extensions)
    head = bytearray(frame[:at])
    if head[14] >> 4 == 4:
        head[15] = head[24] = head[25] = 0
    else:
        head[14] &= 0xF0
        head[15] &= 0x0F
    return bytes(head)


def scramble(network: Network, seed: int, *, rounds: int, fault_rate: float, timeout_rate: float = 0.002) -> None:
    """A random schedule: single frames move in random order on random links; each may be lost, copied, swapped with the
    one behind it, or (data, towards the switch) damaged. Timers fire now and then."""
    draw = random.Random(seed)
    size = network.job.size
    for _ in range(rounds):
        rank = draw.randrange(size)
        if draw.random() < timeout_rate:
            network.hosts[rank].timeout()
        for _ in range(draw.randint(0, 3)):
            network.send(rank)
        link = draw.choice((network.up, network.down))[rank]
        if link and draw.random() < fault_rate:
            kind = draw.choice(("drop", "copy", "swap", "damage"))
            if kind == "drop":
                link.popleft()
            elif kind == "copy":
                link.insert(draw.randint(0, len(link)), link[0])
            elif kind == "swap" and len(link) > 1:
                link[0], link[1] = link[1], link[0]
            elif kind == "damage" and link is network.up[rank]:
                packet = decode_packet(link[0])
                if packet is not None and packet.info.is_request:
                    damaged = bytearray(link[0])
                    damaged[-draw.randint(1, 20)] ^= 1 << draw.randrange(8)
                    link[0] = bytes(damaged)
        elif link is network.up[rank]:
            network.deliver_up(rank)
        else:
            network.deliver_down(rank)
        if all(host.finished for host in network.hosts):
            return
