"""The SwitchML switch program (Sapio et al., NSDI 2021; see `docs/switchml.md` for what is sourced and what is
decided).

Workers send blocks to slots of the switch's pool; it adds them, and when all are inside it sends the sum to all. Each
index has two versions. A worker uses one only when it has the result of the other, so the switch keeps a sum until no
worker can ask for it any more. Over two tiers a leaf switch sums its rack, and is a worker of the root. `service` does
that; here is what it shares with all programs.
"""

from __future__ import annotations

from switch_nodes.config import SwitchConfig
from switch_nodes.serving import ServingProgram
from switch_nodes.switchml.framing import create_service
from switch_nodes.switchml.pool import VERSIONS, Pool, check_jobs
from switch_nodes.switchml.service import PoolService
from switch_nodes.switchml.tables import DROP_REASONS
from workloads.datagrams.blocks import MemoryAtEnd
from workloads.machine import Buffer
from workloads.quick import Quick

__all__ = ["SwitchMlProgram"]

_FRAME_REASONS = ("checksum", "icrc", "malformed", "unknown_qp", "gap", "invalid", "wrong_port", "bad_slot")
_COUNTERS = ("data_in", "results_out", "replayed", "bypassed")
_LEAF_COUNTERS = ("partials_out", "sums_in")


class SwitchMlProgram(ServingProgram[Pool]):
    """Serves `SwitchConfig.jobs`. Everything that is not for them passes as through a plain switch."""

    pool_class, service_class = Pool, PoolService
    counter_names = (*ServingProgram.counter_names, *_COUNTERS, *_FRAME_REASONS, *DROP_REASONS.values())

    def __init__(self, config: SwitchConfig) -> None:
        """Raises ScenarioError for jobs that cannot be served."""
        super().__init__(config)
        check_jobs(config)
        self.served = {job.job: self.pool_class(job) for job in config.jobs}
        if any(pool.leaf >= 0 for pool in self.served.values()):
            self.counters |= dict.fromkeys(_LEAF_COUNTERS, 0)
        self.service = self.service_class(self, config, self.served, create_service(config.jobs))

    @property
    def quick(self) -> Quick:
        """What a compiled loop asks."""
        return self.service

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.service.take(port, bytes(frame), now)

    def tell_end(self, pool: Pool) -> None:
        first, values = pool.config.first_slot, VERSIONS * pool.slots
        self.tell(
            MemoryAtEnd(pool.job, first, pool.slots, pool.open_slots, values, pool.peak, pool.busy_ns, pool.useful_ns)
        )

    def finish(self, now: int) -> None:
        self.counters |= self.service.counters()
        super().finish(now)
