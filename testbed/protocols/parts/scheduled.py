"""All-reduces that are a schedule of transfers between pairs of ranks, over RC connections and plain switches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from testbed.plan.model import Plan
from testbed.plan.scheduled import no_options, plan_schedule, slowest_host_bps
from testbed.reading.known import Section
from testbed.scenario.checks_pairs import check_pairs
from testbed.scenario.protocol import Hunt, Protocol, SectionCheck, Traits
from workloads.collectives.operations import ALL_REDUCE
from workloads.collectives.pairs import Schedule
from workloads.config import IRN_END_TO_END

__all__ = ["PAIRS_HUNT", "scheduled"]

PAIRS_HUNT = Hunt(
    {"float32": 60, "int32": 40},
    draw="testbed.hunt.draw_pairs:draw_pairs_schedule",
    survival="testbed.hunt.survival:SURVIVAL",
    rules="testbed.hunt.slot_rules:no_rules_of_slots",
    values="testbed.hunt.coverage:values_of_connections",
    smaller="testbed.hunt.draw_pairs:smaller_pairs",
    watches_slots=False,
)


def scheduled(
    name: str,
    summary: str,
    schedule: Schedule | Mapping[str, Schedule],
    order: Callable[..., Any],
    *,
    gradients: Callable[[int], float],
    checks: tuple[SectionCheck, ...] = (),
    job_keys: type[Section] | None = None,
    options: Callable[..., Mapping[str, Any]] = no_options,
    draw_keys: Callable[..., Any] | None = None,
    sums: bool = True,
) -> Protocol:
    """`order`, `job_keys`: as those of `Protocol`; `draw_keys`: as that of `Hunt`. `gradients`: ranks -> how many times
    a gradient's own time on a link the schedule takes, without latencies. `options`: job -> what its own keys tell the
    schedule, by name. `schedule`: of an all-reduce, or several by `job.operation`. `sums`: as that
    of `Traits`."""
    schedules = schedule if isinstance(schedule, Mapping) else {ALL_REDUCE: schedule}

    def bound(plan: Plan, link_bps: float) -> float:
        times = gradients(len(plan.workers))
        return slowest_host_bps(plan) / (times if plan.scenario.job.operation == ALL_REDUCE else times / 2)

    return Protocol(
        name=name,
        summary=f"{summary} (program forward)",
        plan=partial(plan_schedule, schedules, options=options),
        operations=tuple(schedules),
        traits=Traits(
            reliable=True,
            sums=sums,
            recoveries=("gbn", *IRN_END_TO_END),
            told_share=0.5,
            why_no_clamping="pairs add step by step and would clamp early",
        ),
        checks=(check_pairs, *checks),
        order=order,
        bound=bound,
        hunt=replace(PAIRS_HUNT, draw_keys=draw_keys),
        job_keys=job_keys,
    )
