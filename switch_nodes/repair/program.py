"""The switch program of repair jobs (docs/repair.md). It multiplies and adds the packets of the donors below it, and
sends the sum up once it has all of them. It spreads the newcomer's acknowledgements.

Switches form a tree whose root is the newcomer. None has a timer: donors send again until they are acknowledged, and
what they send again makes each switch do what is missing. `service` does that; here is what it shares with all
programs.
"""

from __future__ import annotations

from switch_nodes.config import SwitchConfig
from switch_nodes.repair.pool import RepairPool, check_jobs
from switch_nodes.repair.service import RepairService
from switch_nodes.repair.tables import DROP_REASONS
from switch_nodes.serving import ServingProgram
from workloads.datagrams.blocks import MemoryAtEnd
from workloads.machine import Buffer
from workloads.quick import Quick

__all__ = ["RepairProgram"]

_FRAME_REASONS = ("checksum", "malformed", "wrong_port", "bad_slot")
_COUNTERS = ("data_in", "sums_out", "questions_out", "acks_out", "bypassed")


class RepairProgram(ServingProgram[RepairPool]):
    """Serves `SwitchConfig.jobs`. Everything that is not for them passes as through a plain switch."""

    service_class = RepairService
    counter_names = (*ServingProgram.counter_names, *_COUNTERS, *_FRAME_REASONS, *DROP_REASONS.values())

    def __init__(self, config: SwitchConfig) -> None:
        """Raises ScenarioError for jobs that cannot be served."""
        super().__init__(config)
        check_jobs(config)
        self.served = {job.job: RepairPool(job) for job in config.jobs}
        self.service = self.service_class(self, config, self.served)

    @property
    def quick(self) -> Quick:
        """What a compiled loop asks."""
        return self.service

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.service.take(port, bytes(frame), now)

    def tell_end(self, pool: RepairPool) -> None:
        first, slots = pool.config.first_slot, pool.slots
        self.tell(MemoryAtEnd(pool.job, first, slots, pool.open_slots, slots, pool.peak, pool.busy_ns, pool.useful_ns))

    def finish(self, now: int) -> None:
        self.counters |= self.service.counters()
        super().finish(now)
