"""SwitchML's service with endless memory: every block has a slot of its own, for ever."""

import numpy as np

from switch_nodes.forwarding import ForwardProgram
from workloads.datagrams.blocks import BlockReplayed, BlockSummed, MemoryAtEnd
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, DatagramError, DatagramKind, decode_datagram, encode_datagram


class Endless(ForwardProgram):
    def __init__(self, config):
        super().__init__(config)
        self.jobs = {job.job: job for job in config.jobs}
        self.sums = {}  # (job, block) -> elements, per rank how often it entered, exponents

    def receive_frame(self, port, frame, now):
        try:
            found = decode_datagram(frame)
        except DatagramError as error:
            self.count(error.reason)
            return
        job = self.jobs.get(found.header.job) if found is not None else None
        if job is None or found.dst_ip != job.service_ip:
            self.forward(port, frame)
        else:
            self.aggregate(job, found)

    def aggregate(self, job, found):
        header, rank = found.header, found.header.bitmap0.bit_length() - 1
        block, values = header.sequence - 1, np.frombuffer(found.payload, ">i4").astype(np.int32)
        nothing = np.zeros_like(values), [0] * len(job.members), (-128, -128)
        total, entered, exponents = self.sums.get((job.job, block), nothing)
        if all(entered):
            self.tell(BlockReplayed(job.job, rank, block, header.slot))
            self.answer(job, found, total, exponents, [rank])
        elif not entered[rank]:
            entered[rank] += 1
            exponents = max(exponents[0], header.exponent0), max(exponents[1], header.exponent1)
            self.sums[job.job, block] = total + values, entered, exponents
            if all(entered):
                self.tell(BlockSummed(job.job, block, header.slot, tuple(entered)))
                self.answer(job, found, total + values, exponents, range(len(job.members)))

    def answer(self, job, found, total, exponents, ranks):
        everybody, (first, second) = (1 << len(job.members)) - 1, exponents
        header = found.header._replace(kind=DatagramKind.RESULT, exponent0=first, exponent1=second, bitmap0=everybody)
        for member in (job.members[rank] for rank in ranks):
            envelope = Envelope(job.service_mac, member.mac, job.service_ip, member.ip, AGGREGATION_PORT)
            self.emit(member.port, encode_datagram(envelope, AGGREGATION_PORT, header, total.astype(">i4").tobytes()))

    def finish(self, now):
        for job in self.jobs.values():
            left = sum(not all(entered) for (owner, _), (_, entered, _) in self.sums.items() if owner == job.job)
            self.tell(MemoryAtEnd(job.job, job.first_slot, job.slots, left, 2 * job.slots, 0, 0))
        super().finish(now)
