"""ATP: each host streams its gradient towards a parameter server, and switches add what they can (docs/atp.md)."""

from __future__ import annotations

from switch_nodes.aggregators.tables import aggregator_table, atp_knobs
from testbed.protocols.parts.server_steps import NO_REMINDER, ONE_SIZE, OVERRUN, SERVER_STEPS, never_in_blocks
from testbed.scenario.checks_server import check_served
from testbed.scenario.protocol import Hunt, Protocol, Traits
from workloads.atp import AtpConfig
from workloads.atp.checks import problems_in_worker
from workloads.lazily import later

__all__ = ["PROTOCOL"]

_NO_PRIORITY = "packets of ATP have priority 0, all of them"
_NO_EARLY_RESULT = "no switch of ATP makes a result"

PROTOCOL = Protocol(
    name="atp",
    summary="each host streams its gradient towards a parameter server, and a switch adds what it can (program atp, or "
            "forward)",
    plan=later("testbed.plan.atp:plan_atp"),
    programs=("atp", "forward"),
    traits=Traits(
        several_jobs=True, layered=True, floats_as_integers=True, fixed_scale=True, has_server=True, names_racks=True,
        server_completes=True,
        in_place=True, heeds_marks=True, slots_move=True, largest_mtu=1024,
    ),
    checks=(check_served,),
    order=later("testbed.checkers.orders:quantised"),
    blocks=later("testbed.checkers.blocks:blocks_with_exponents"),
    worker=AtpConfig,
    worker_problems=problems_in_worker,
    hunt=Hunt(
        {"float32": 41, "int32": 49, "int32sat": 10},
        (*aggregator_table(atp_knobs()).steps, *SERVER_STEPS),
        {
            **dict.fromkeys(("slot filling/mismatch", "slot done/mismatch", "block open/mismatch"), ONE_SIZE),
            **dict.fromkeys(("slot filling/other_lower", "slot done/other_lower"), _NO_PRIORITY),
            "block unknown/overrun": OVERRUN,
            **never_in_blocks("copy", _NO_EARLY_RESULT),
            **never_in_blocks("nothing_there", NO_REMINDER),
        },
    ),
)  # fmt: skip
