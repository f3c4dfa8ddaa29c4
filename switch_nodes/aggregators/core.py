"""The core of programs `atp` and `esa`: aggregators whose indices workers choose by a hash, first come first served.

`service` has what happens to packets; here is what a program shares with all programs. See `docs/atp.md` and
`docs/esa.md`.
"""

from __future__ import annotations

from switch_nodes.aggregators.checks import check_aggregator_jobs, check_knobs
from switch_nodes.aggregators.entrance import ENTRANCE_REASONS, Entrance
from switch_nodes.aggregators.judge import SlotJudge
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.aggregators.service import AggregatorService
from switch_nodes.aggregators.tables import DROP_REASONS
from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs
from switch_nodes.serving import ServingProgram
from workloads.datagrams.blocks import MemoryAtEnd
from workloads.machine import Buffer
from workloads.quick import Quick
from workloads.wire.aggregation import Policy

__all__ = ["AggregatorProgram"]

_COUNTERS = (
    "data_in", "results_in", "reminders_in", "results_out", "completed", "repeated", "passed", "collided", "evicted",
    "flushed", "reminded", "answered_empty", "reclaimed", "freed", "bypassed", "unexpected", "ghosts_at_end",
)  # fmt: skip


class AggregatorProgram(ServingProgram[ServedJob], AggregatorService):
    """Serves `SwitchConfig.jobs`. Everything that is not for them passes as through a plain switch."""

    policy = Policy.ATP
    judge_class = SlotJudge
    job_class = ServedJob
    entrance_class = Entrance
    counter_names = (*ServingProgram.counter_names, *_COUNTERS, *ENTRANCE_REASONS, *DROP_REASONS.values())

    def __init__(self, config: SwitchConfig, knobs: AggregatorKnobs) -> None:
        """Raises ScenarioError for jobs and knobs that cannot be served."""
        check_knobs(config.name, knobs)
        check_aggregator_jobs(config)
        ServingProgram.__init__(self, config)
        queues = self.counters, self._events, self._frames
        AggregatorService.__init__(self, knobs, config.memory, *queues, macs=self.macs, traced=config.trace)
        self.judge = self.judge_class(self.memory, knobs)
        self.served = {job.job: self.job_class(job) for job in config.jobs}
        self._entrance = self.entrance_class(self.served, self.policy)

    @property
    def quick(self) -> Quick:
        """Itself."""
        return self

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.take(port, bytes(frame), now)

    def clear(self, gone: ServedJob) -> None:
        """At once its slots are empty for the others; what it still sends passes on to its server."""
        for index, slot in enumerate(self.memory.slots):
            if slot is not None and slot.served is gone:
                self.memory.free(index, self._now)

    def tell_end(self, served: ServedJob) -> None:
        """What late copies opened after their block's result is no leftover of a job: the control plane clears it. A
        whole sum that was there before its result counts as a leftover: it should have left with the result."""
        left = 0
        for slot in self.memory.slots:
            if slot is None or slot.served is not served:
                continue
            delivered_at = served.delivered.get(slot.block)
            if slot.bitmap == slot.target:
                left += delivered_at is not None and slot.opened < delivered_at
            elif delivered_at is None:
                left += 1
            else:
                self.count("ghosts_at_end")
        self.tell(
            MemoryAtEnd(
                served.job, served.config.first_slot, served.config.slots, left, served.config.slots, served.peak,
                served.busy_ns, served.useful_ns,
            )
        )  # fmt: skip
