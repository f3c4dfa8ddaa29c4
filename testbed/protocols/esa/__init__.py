"""ESA: ATP with priorities, in slots that can be taken away (docs/esa.md)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import product

from switch_nodes.aggregators.checks import AGES, FREES
from switch_nodes.aggregators.tables import aggregator_table
from switch_nodes.jobs import AggregatorKnobs
from testbed.protocols.parts.server_steps import ONE_SIZE, SERVER_STEPS
from testbed.scenario.checks_server import check_served
from testbed.scenario.protocol import Hunt, Protocol, Traits
from workloads.atp import AtpConfig
from workloads.atp.checks import problems_in_worker
from workloads.automaton import step_names
from workloads.lazily import later

__all__ = ["PROTOCOL"]

_NOT_STRICT = (
    "an ESA server knows that a switch may have sent the result of the block a window before, and refuses nothing"
)


def _pairs() -> Iterable[tuple[Enum, Enum]]:
    """Of the slots' table under any setting of the knobs."""
    for preempt, free, reclaim in product((True, False), FREES, (True, False)):
        knobs = AggregatorKnobs(preempt, AGES[0], free, ps_copy=True, reminder=True, reclaim=reclaim)
        yield from aggregator_table(knobs)


PROTOCOL = Protocol(
    name="esa",
    summary="as atp, with priorities, in slots that can be taken away (program esa, or forward)",
    plan=later("testbed.plan.atp:plan_atp"),
    programs=("esa", "forward"),
    traits=Traits(
        several_jobs=True, layered=True, floats_as_integers=True, fixed_scale=True, has_server=True, names_racks=True,
        server_knobs=("reminder",),
        in_place=True, has_priorities=True, heeds_marks=True, slots_move=True, largest_mtu=1024,
    ),
    checks=(check_served,),
    order=later("testbed.checkers.orders:quantised"),
    blocks=later("testbed.checkers.blocks:blocks_with_exponents"),
    worker=AtpConfig,
    worker_problems=problems_in_worker,
    hunt=Hunt(
        {"float32": 41, "int32": 49, "int32sat": 10},
        (*step_names("slot", _pairs()), *SERVER_STEPS),
        {
            **dict.fromkeys(("slot filling/mismatch", "slot done/mismatch", "block open/mismatch"), ONE_SIZE),
            "block unknown/overrun": _NOT_STRICT,
        },
    ),
)  # fmt: skip
