"""Schedules of the plain parameter server: those of ATP, with its optimisations drawn beside them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from testbed.hunt.draw_datagrams import draw_datagram_schedule, with_limit
from testbed.hunt.protocols import Hunted
from testbed.hunt.survival_datagrams import blocks_of
from testbed.scenario.model import Scenario
from testbed.scenario.ps_keys import PsKeys

__all__ = ["draw_ps_schedule"]

_HOLDS = 0.25
"""share of those without floats in which the server waits for the whole gradient"""


def draw_ps_schedule(
    draw: Random, protocol: Hunted, base: Scenario | None, program: str, *, traced: bool, seed: int
) -> Scenario:
    """As `draw_datagram_schedule`. Both optimisations are drawn in half of all, each alone in a fifth."""
    found = draw_datagram_schedule(draw, protocol, base, program, traced=traced, seed=seed)
    if base is not None:
        return found
    aggregation, multicast = draw.choices(
        ((True, True), (True, False), (False, True), (False, False)), (50, 20, 20, 10)
    )[0]
    floats = any(job.dtype == "float32" for job in found.all_jobs)
    keys = PsKeys(aggregation, multicast, streaming=floats or draw.random() >= _HOLDS)
    jobs = (replace(job, own=keys) for job in found.jobs)
    if not keys.streaming:  # the window is the whole gradient then, and the argument counts with it
        jobs = (replace(job, window_packets=max(job.window_packets, blocks_of(found, job))) for job in jobs)
    return with_limit(replace(found, job=replace(found.job, own=keys), jobs=tuple(jobs)))
