"""Program `dlcp`: sums of whoever came in time (docs/dlcp.md).

It looks at what workers at its ports send to their server, and lets everything else pass. The first packet of a block
takes a slot; when all workers at its ports are inside, or the slot has waited long enough, their sum leaves for the
server, with a bitmap that says who is inside, and the slot is free. Contributions stay apart until then, so that a sum
is by rank, whoever came first. What was sent before (RESEND) passes: its block may be gone. So does what finds no slot.
"""

from __future__ import annotations

import numpy as np

from switch_nodes.config import SwitchConfig
from switch_nodes.dlcp.slots import Key, SlotPool, check_jobs
from switch_nodes.serving import ServingProgram
from workloads.collectives.arithmetic import fold
from workloads.datagrams.blocks import ContributionIgnored, MemoryAtEnd, PartialSent
from workloads.dlcp.packets import rank_of
from workloads.machine import Buffer
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    Datagram,
    DatagramError,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)

__all__ = ["DlcpProgram"]

_TOS_AT = 15
_REASONS = ("checksum", "malformed", "duplicate", "mismatch")


class DlcpProgram(ServingProgram[SlotPool]):
    """Serves `SwitchConfig.jobs`."""

    counter_names = (*ServingProgram.counter_names, "data_in", "sums_out", "sums_late", "no_slot", "again", *_REASONS)

    def __init__(self, config: SwitchConfig) -> None:
        """Raises ScenarioError for jobs that cannot be served."""
        super().__init__(config)
        check_jobs(config)
        self.served = {job.job: SlotPool(job) for job in config.jobs}
        self._now = 0

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._now = max(now, self._now)
        try:
            found = decode_datagram(frame)
        except DatagramError as error:
            self._ignore(-1, -1, -1, -1, error.reason)
            return
        pool = None if found is None else self._pool_of(found)
        if found is None or pool is None:
            self.forward(port, frame)
        elif found.header.flags & DatagramFlag.RESEND:
            self.count("again")
            self.forward(port, frame)
        else:
            self.count("data_in")
            self.add(pool, found, port, frame, now)

    def _pool_of(self, found: Datagram) -> SlotPool | None:
        """Of what a worker at one of our ports sends to its server; None: it passes."""
        header, pool = found.header, self.served.get(found.header.job)
        if pool is None or header.policy != Policy.DLCP or header.kind != DatagramKind.DATA:
            return None
        rank, config = rank_of(header.bitmap0), pool.config
        one = header.bitmap0.bit_count() == 1 and rank in pool.own
        assert config.server is not None, "check_jobs saw it"
        ours = one and found.src_ip == config.members[rank].ip and found.dst_ip == config.server.ip
        return pool if ours and 0 < header.nelem <= config.elements else None

    def add(self, pool: SlotPool, found: Datagram, port: int, frame: Buffer, now: int) -> None:
        header, key = found.header, (found.header.tensor, found.header.sequence)
        rank, slot = rank_of(header.bitmap0), pool.open.get(key)
        if slot is None:
            slot = pool.begin(header, now)
            if slot is None:
                self.count("no_slot")
                self.forward(port, frame)
                return
        if rank in slot.rows:
            self._ignore(pool.config.job, rank, header.sequence - 1, slot.index, "duplicate")
            return
        if header.nelem != slot.header.nelem:
            self._ignore(pool.config.job, rank, header.sequence - 1, slot.index, "mismatch")
            return
        slot.rows[rank] = bytes(found.payload)
        slot.tos = min(slot.tos, frame[_TOS_AT])
        if slot.rows.keys() == pool.own:
            self.send(pool, key, "complete")

    def send(self, pool: SlotPool, key: Key, reason: str) -> None:
        """The sum by rank of those inside leaves, as important as the most important of their packets."""
        config = pool.config
        slot = pool.end(key, self._now, whole=reason == "complete")
        ranks = sorted(slot.rows)
        bitmap = sum(1 << rank for rank in ranks)
        rows = np.array([np.frombuffer(slot.rows[rank], ">u4").astype("<u4") for rank in ranks])
        total = fold(rows.view(np.uint8), config.arithmetic).view("<u4").astype(">u4").tobytes()
        assert config.server is not None, "check_jobs saw it"
        envelope = Envelope(
            config.service_mac, config.server.mac, config.service_ip, config.server.ip, AGGREGATION_PORT, tos=slot.tos
        )
        contributions = tuple(int(rank in slot.rows) for rank in range(len(config.members)))
        self.tell(PartialSent(config.job, self.block_of(pool, key), slot.index, contributions, bitmap, reason))
        self.count("sums_out")
        frame = encode_datagram(envelope, AGGREGATION_PORT, slot.header._replace(bitmap0=bitmap), total)
        out = self.macs.lookup(config.server.mac, frame)
        self.emit(config.server.port if out is None else out, frame)

    def block_of(self, pool: SlotPool, key: Key) -> int:
        """Counted over the life of the job."""
        iteration, sequence = key
        return iteration * pool.config.window + sequence - 1

    def get_timer(self) -> int | None:
        timers = [timer for pool in self.served.values() if (timer := pool.get_timer()) is not None]
        return min(timers, default=None)

    def handle_timer(self, now: int) -> None:
        self._now = max(now, self._now)
        for pool in self.served.values():
            while (key := pool.due(now)) is not None:
                self.count("sums_late")
                self.send(pool, key, "late")

    def finish(self, now: int) -> None:
        self._now = max(now, self._now)
        super().finish(now)

    def tell_end(self, pool: SlotPool) -> None:
        """A slot whose time has not come is not left behind: it would leave."""
        config = pool.config
        overdue = sum(slot.deadline <= self._now for slot in pool.open.values())
        used = config.first_slot, config.slots, overdue, config.slots, pool.peak, pool.busy_ns, pool.useful_ns
        self.tell(MemoryAtEnd(config.job, *used))

    def _ignore(self, job: int, rank: int, block: int, slot: int, reason: str) -> None:
        self.count(reason)
        self.tell(ContributionIgnored(job, rank, block, slot, reason))
