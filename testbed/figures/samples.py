"""How many training samples per second a job computes, where it is known how many an iteration has."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.scenario.keys.job import Job
from workloads.gradients.digits import digits_batch

__all__ = ["samples_of", "samples_per_second"]


def samples_of(job: Job, ranks: int) -> int | None:
    """Samples that all workers of the job compute, over all iterations; None: the scenario does not say (`batch`)."""
    batch = digits_batch(ranks) if job.workload == "digits" else job.batch
    return None if batch is None else batch * ranks * job.iterations


def samples_per_second(samples: Sequence[int | None], seconds: float | None) -> float | None:
    """Over all jobs. None: one of them does not say how many, or did not end."""
    known = [count for count in samples if count is not None]
    return sum(known) / seconds if seconds and known and len(known) == len(samples) else None
