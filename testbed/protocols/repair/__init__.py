"""Repair of a lost block of an erasure code, combined by switches on its way (docs/repair.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from switch_nodes.repair.tables import SLOT_TABLE
from testbed.checkers.checker import Checker
from testbed.protocols.parts.server_steps import ONE_SIZE
from testbed.protocols.repair.checks import check_repair, check_repair_fault
from testbed.protocols.repair.keys import RepairKeys
from testbed.scenario.protocol import Hunt, Part, Protocol, Traits
from workloads.lazily import later
from workloads.repair import RepairConfig
from workloads.repair.checks import problems_in_host

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan import Plan

__all__ = ["PROTOCOL"]


def _stored(plan: Plan, workers: Sequence[RepairConfig], gradients: Sequence[Array]) -> list[Array]:
    """Each node of the code holds what it stored of the file: the donors as before, the newcomer again. No donor's
    symbol is looked at: the file is encoded."""
    from workloads.repair.stored import file_of, words_of  # when a run is judged

    share = workers[0].share
    nodes = share.code.encode(file_of(share.code, gradients))
    return [words_of(nodes[node], gradients[0].dtype) for node in (*share.donors, share.lost)]


def _blocks(worker: RepairConfig, elements: int) -> int:
    words = elements // worker.share.code.alpha
    return -(-words // worker.elements)


def _bound(plan: Plan, link_bps: float) -> float:
    """A node stores alpha symbols for each symbol that a donor sends. `link_bps`: one donor's part of the newcomer's
    link, which the donors share where no switch combines."""
    first = plan.workers[0]
    return link_bps * (first.share.code.alpha if isinstance(first, RepairConfig) else 1)


def _part(worker: RepairConfig) -> Part:
    return Part(contributes=not worker.is_newcomer, sums=worker.is_newcomer and not worker.combined)


PROTOCOL = Protocol(
    name="repair",
    summary="donors send what a newcomer needs to hold a lost block of an erasure code, and switches combine it "
    "(program repair, or forward)",
    plan=later("testbed.protocols.repair.plan:plan_repair"),
    programs=("repair", "forward"),
    job_keys=RepairKeys,
    traits=Traits(sums=False, several_jobs=True, largest_mtu=1024),
    checks=(check_repair,),
    check_fault=check_repair_fault,
    order=_stored,
    blocks=_blocks,
    bound=_bound,
    part=_part,
    worker=RepairConfig,
    worker_problems=problems_in_host,
    checkers=(
        Checker(
            "link_bytes",
            later("testbed.protocols.repair.link_bytes:link_bytes"),
            proves="the newcomer got, and the donors sent, as many bytes as the code says",
            skip=later("testbed.protocols.repair.link_bytes:skip_link_bytes"),
        ),
    ),
    hunt=Hunt(
        {"int32": 80, "float32": 20},
        SLOT_TABLE.steps,
        dict.fromkeys(("slot filling/mismatch", "slot sent/mismatch", "slot done/mismatch"), ONE_SIZE),
        frames_each_way=2,  # data or their sum, and acknowledgements
        draw="testbed.protocols.repair.hunt:draw_repair_schedule",
        smaller="testbed.protocols.repair.hunt:smaller_repair",
    ),
)
