"""A plain parameter server, with in-network sums on the way up and multicast on the way down as two switches of its
own (docs/ps.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from switch_nodes.aggregators.tables import aggregator_table, atp_knobs
from testbed.protocols.parts.server_steps import NO_REMINDER, ONE_SIZE, OVERRUN, SERVER_STEPS, never_in_blocks
from testbed.protocols.ps.checks import check_ps
from testbed.protocols.ps.keys import PsKeys
from testbed.protocols.ps.plan import keys_of_ps
from testbed.scenario.checks_server import check_served
from testbed.scenario.protocol import Hunt, Protocol, Traits
from workloads.atp import AtpConfig
from workloads.atp.checks import problems_in_worker
from workloads.lazily import later

if TYPE_CHECKING:
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]

_NO_PRIORITY = "packets have priority 0, all of them"
_NO_EARLY_RESULT = "no switch makes a result"


def _bound(plan: Plan, link_bps: float) -> float:
    """The bound of the job with the most workers. Results that the server sends one by one share its link, and so do
    contributions that no switch adds."""
    keys, topology = keys_of_ps(plan.scenario), plan.scenario.topology
    if keys.aggregation and keys.multicast and keys.streaming:
        return link_bps
    bounds = [link_bps]
    for server in plan.servers:
        ((_, link, _), *_) = topology.ports(server.name)
        framing = plan.workers[0].framing
        rate = link.shape.rate_bps * framing.payload_bytes / framing.frame_bytes
        up = sum(1 if keys.aggregation else len(job.members) for job in server.jobs)
        down = sum(1 if keys.multicast else len(job.members) for job in server.jobs)
        bounds.append(rate / (max(up, down) if keys.streaming else up + down))
    return min(bounds)


PROTOCOL = Protocol(
    name="ps",
    summary="each host streams its gradient to a parameter server; sums on the way up and copies on the way down are "
            "options (program ps)",
    plan=later("testbed.protocols.ps.plan:plan_ps"),
    programs=("ps",),
    job_keys=PsKeys,
    traits=Traits(
        several_jobs=True, layered=True, floats_as_integers=True, has_server=True, names_racks=True,
        in_place=True, server_completes=True, heeds_marks=True, slots_move=True, largest_mtu=1024,
    ),
    checks=(check_served, check_ps),
    order=later("testbed.checkers.orders:quantised"),
    blocks=later("testbed.checkers.blocks:blocks_with_exponents"),
    bound=_bound,
    worker=AtpConfig,
    worker_problems=problems_in_worker,
    hunt=Hunt(
        {"float32": 41, "int32": 49, "int32sat": 10},
        (*aggregator_table(atp_knobs()).steps, *SERVER_STEPS),
        {
            **dict.fromkeys(("slot filling/mismatch", "slot done/mismatch", "block open/mismatch"), ONE_SIZE),
            **dict.fromkeys(("slot filling/other_lower", "slot done/other_lower"), _NO_PRIORITY),
            "slot empty/completing": "who is alone behind a switch only passes it",
            "block unknown/overrun": OVERRUN,
            **never_in_blocks("copy", _NO_EARLY_RESULT),
            **never_in_blocks("nothing_there", NO_REMINDER),
        },
        every_tier=True,
        draw="testbed.protocols.ps.hunt:draw_ps_schedule",
    ),
)  # fmt: skip
