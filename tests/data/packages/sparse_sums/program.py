"""The switch: it learns from plans who sends which block, and adds a block when all of its packets are there."""

from dataclasses import dataclass, field

import numpy as np

from sparse_sums.header import ASK, BLOCK, PLAN, SUM, UNION, Packet, decode, encode
from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.jobs import JobConfig
from switch_nodes.kinds import ProgramKind
from workloads.datagrams.blocks import BlockReplayed, BlockSummed, ContributionIgnored, MemoryAtEnd
from workloads.machine import Buffer
from workloads.wire.envelope import Envelope


@dataclass
class Iteration:
    first: int
    """its first block"""
    plans: dict[int, bytes] = field(default_factory=dict)
    union: bytes = b""
    parts: dict[int, dict[int, bytes]] = field(default_factory=dict)
    sums: dict[int, bytes] = field(default_factory=dict)


@dataclass
class Served:
    config: JobConfig
    envelopes: list[Envelope]
    iterations: dict[int, Iteration] = field(default_factory=dict)
    sent: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """(kind, number, rank): times"""
    peak: int = 0


class SparseProgram(ForwardProgram):
    counter_names = (*ForwardProgram.counter_names, "ours")

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self.served = {job.job: Served(job, [self.towards(job, rank) for rank in range(len(job.members))])
                       for job in config.jobs}  # fmt: skip

    @staticmethod
    def towards(job: JobConfig, rank: int) -> Envelope:
        member = job.members[rank]
        return Envelope(job.service_mac, member.mac, job.service_ip, member.ip, 0xB10C)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        packet = decode(frame)
        served = None if packet is None else self.served.get(packet.job)
        if packet is None or served is None or bytes(frame[30:34]) != served.config.service_ip:
            self.forward(port, frame)
            return
        self.count("ours")
        if packet.kind == PLAN:
            self.take_plan(served, packet)
        elif packet.kind in (BLOCK, ASK):
            self.take_block(served, packet)

    def take_plan(self, served: Served, packet: Packet) -> None:
        known = served.iterations
        if known and packet.number < max(known):
            return
        first, bits = int.from_bytes(packet.payload[:4], "big"), packet.payload[4:]
        iteration = known.setdefault(packet.number, Iteration(first))
        iteration.plans[packet.rank] = bits
        if iteration.union:
            self.tell_union(served, packet.number, (packet.rank,))
        elif len(iteration.plans) == len(served.envelopes):
            bits = [np.frombuffer(plan, np.uint8) for plan in iteration.plans.values()]
            iteration.union = np.bitwise_or.reduce(bits).tobytes()
            for old in [number for number in known if number < packet.number]:
                del known[old]
            self.tell_union(served, packet.number, range(len(served.envelopes)))

    def tell_union(self, served: Served, number: int, ranks: "range | tuple[int, ...]") -> None:
        for rank in ranks:
            self.give(served, UNION, number, rank, served.iterations[number].union)

    def take_block(self, served: Served, packet: Packet) -> None:
        job = served.config.job
        begun = [each for each in served.iterations.values() if each.union and each.first <= packet.number]
        iteration = max(begun, key=lambda each: each.first, default=None)
        index = packet.number - iteration.first if iteration else 0
        slot = served.config.first_slot + index % served.config.slots
        if iteration is None or index >= 8 * len(iteration.union):
            self.tell(ContributionIgnored(job, packet.rank, packet.number, slot, "late"))
            return
        if index in iteration.sums:
            self.tell(BlockReplayed(job, packet.rank, packet.number, slot))
            self.give(served, SUM, packet.number, packet.rank, iteration.sums[index])
            return
        due = [rank for rank, plan in sorted(iteration.plans.items()) if plan[index // 8] >> index % 8 & 1]
        parts = iteration.parts.setdefault(index, {})
        if packet.kind == ASK or packet.rank in parts:
            self.tell(ContributionIgnored(job, packet.rank, packet.number, slot, "waits"))
            return
        parts[packet.rank] = packet.payload
        served.peak = max(served.peak, len(iteration.parts) + len(iteration.sums))
        if set(due) <= set(parts):
            dtype = {"float32": ">f4"}.get(served.config.arithmetic.dtype, ">i4")
            total = np.frombuffer(parts[due[0]], dtype)
            for rank in due[1:]:
                total = total + np.frombuffer(parts[rank], dtype)
            iteration.sums[index] = total.astype(dtype).tobytes()
            counts = tuple(int(rank in due) for rank in range(len(served.envelopes)))
            self.tell(BlockSummed(job, packet.number, slot, counts))
            for rank in range(len(served.envelopes)):
                self.give(served, SUM, packet.number, rank, iteration.sums[index])
            del iteration.parts[index]

    def give(self, served: Served, kind: int, number: int, rank: int, payload: bytes) -> None:
        key = kind, number, rank
        served.sent[key] = served.sent.get(key, 0) + 1
        packet = Packet(kind, served.sent[key], 255, served.config.job, number, payload)
        self.emit(served.config.members[rank].port, encode(served.envelopes[rank], packet))

    def finish(self, now: int) -> None:
        for job, served in self.served.items():
            left = sum(len(each.parts) for each in served.iterations.values())
            config = served.config
            self.tell(MemoryAtEnd(job, config.first_slot, config.slots, left, config.slots, served.peak, 0))
        super().finish(now)


KIND = ProgramKind(
    "sparse_sums", "sums of the blocks that workers keep", lambda: SparseProgram, uses=("jobs", "memory")
)
