"""Program `dlcp`: sums of the contributions that came in time (docs/dlcp.md). `service` has what happens to packets."""

from __future__ import annotations

from switch_nodes.config import SwitchConfig
from switch_nodes.dlcp.service import DlcpService
from switch_nodes.dlcp.slots import SlotPool, check_jobs
from switch_nodes.serving import ServingProgram
from workloads.datagrams.blocks import MemoryAtEnd
from workloads.kernels import NEVER
from workloads.machine import Buffer
from workloads.quick import Quick

__all__ = ["DlcpProgram"]

_REASONS = ("checksum", "malformed", "duplicate", "mismatch")


class DlcpProgram(ServingProgram[SlotPool], DlcpService):
    """Serves `SwitchConfig.jobs`."""

    counter_names = (*ServingProgram.counter_names, "data_in", "sums_out", "sums_late", "no_slot", "again", *_REASONS)

    def __init__(self, config: SwitchConfig) -> None:
        """Raises ScenarioError for jobs that cannot be served."""
        check_jobs(config)
        ServingProgram.__init__(self, config)
        pools = {job.job: SlotPool(job) for job in config.jobs}
        DlcpService.__init__(self, pools, self.counters, self._events, self._frames, macs=self.macs)

    @property
    def quick(self) -> Quick:
        """Itself."""
        return self

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.take(port, bytes(frame), now)

    def get_timer(self) -> int | None:
        due = self.due()
        return None if due == NEVER else due

    def handle_timer(self, now: int) -> None:
        self.wake(now)

    def finish(self, now: int) -> None:
        self._now = max(now, self._now)
        super().finish(now)

    def tell_end(self, pool: SlotPool) -> None:
        """A slot whose time has not come is not left behind: it would leave."""
        config = pool.config
        overdue = sum(slot.deadline <= self._now for slot in pool.open.values())
        used = config.first_slot, config.slots, overdue, config.slots, pool.peak, pool.busy_ns, pool.useful_ns
        self.tell(MemoryAtEnd(config.job, *used))
