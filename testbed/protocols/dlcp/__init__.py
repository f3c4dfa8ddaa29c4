"""DLCP / MLT: all-reduce in which a bounded share of each gradient may be missing (docs/dlcp.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.checkers.checker import Checker
from testbed.protocols.dlcp.checks import check_dlcp, check_dlcp_fault
from testbed.protocols.dlcp.keys import DlcpKeys
from testbed.scenario.protocol import Hunt, Part, Protocol, Traits
from workloads.dlcp import DlcpConfig
from workloads.dlcp.checks import problems_in_host
from workloads.dlcp.chunks import chunk_of, steps_of
from workloads.lazily import later

if TYPE_CHECKING:
    from testbed.plan import Plan

__all__ = ["PROTOCOL"]


def _blocks(worker: DlcpConfig, elements: int) -> int:
    """In a ring every step has as many as the largest chunk."""
    size = worker.collective.size
    if worker.ring:
        return steps_of(size) * -(-chunk_of(0, size, elements)[1] // worker.elements)
    return -(-elements // worker.elements)


def _bound(plan: Plan, link_bps: float) -> float:
    """The sum follows when all gradients are there, so that a link carries one of them at a time; and of both a share
    need not come. In a ring a rank sends 2 (N - 1) / N gradients. Where switches add, what comes to the server may be
    one sum of all its workers' gradients."""
    keys = plan.scenario.job.own or DlcpKeys()
    size = max(len(group) for group in plan.groups.values())
    each = steps_of(size) / size if keys.rings else 1 + 1 / (size - 1) if keys.adds else 2
    return link_bps / (each * (1 - keys.loss_bound))


def _part(worker: DlcpConfig) -> Part:
    return Part(sums=worker.is_server or worker.ring)


PROTOCOL = Protocol(
    name="dlcp",
    summary="sums of gradients that may each lack a bounded share: at the last host, with switches that "
    "add (program dlcp), or in a ring",
    plan=later("testbed.protocols.dlcp.plan:plan_dlcp"),
    programs=("forward", "dlcp"),
    job_keys=DlcpKeys,
    traits=Traits(approximate=True, one_size=True, several_jobs=True, answers_at_once=True, largest_mtu=1024),
    checks=(check_dlcp,),
    check_fault=check_dlcp_fault,
    blocks=_blocks,
    bound=_bound,
    part=_part,
    worker=DlcpConfig,
    worker_problems=problems_in_host,
    checkers=(
        Checker(
            "bounded_loss",
            later("testbed.protocols.dlcp.bounded_loss:bounded_loss"),
            proves="every rank holds, bit for bit, the sum of what was reported as received, and that is enough",
        ),
    ),
    follow=later("testbed.protocols.dlcp.bounded_training:BoundedPieces"),
    hunt=Hunt(
        {"float32": 40, "int32": 40, "int32sat": 20},
        frames_each_way=2,  # of a vector: its packets; acknowledgements without and with LAST
        vectors=6,  # of a ring of four; over a server 2
        waits=3,  # and one more where the server leaves out a sum of several
        backs_off=True,
        tells_overflow=False,
        draw="testbed.protocols.dlcp.hunt:draw_dlcp_schedule",
        smaller="testbed.protocols.dlcp.hunt:smaller_dlcp",
    ),
)
