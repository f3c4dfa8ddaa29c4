"""A trace: what each rank of a job computes and communicates, and what has to be over before. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.errors import ScenarioError

__all__ = ["ANY", "BARRIER", "COMPUTE", "RECV", "SEND", "JobTrace", "TraceNode", "refused"]

COMPUTE, SEND, RECV, BARRIER = "compute", "send", "recv", "barrier"
"""kinds of nodes in addition to those of `workloads.collectives.operations`"""
ANY = -1
"""as the source or tag of a receive: any"""


@dataclass(frozen=True, slots=True)
class TraceNode:
    """One thing that a rank does."""

    number: int
    """id in the file; of GOAL text its place in the rank, from 1"""
    name: str
    kind: str
    """compute, send, recv, barrier, or the name of a collective operation"""
    compute_ns: int = 0
    bytes: int = 0
    """of a message; of a collective its whole vector: what all ranks give to an all-gather, and what one rank gives to
    any other operation"""
    peer: int = ANY
    """the other rank of a message; ANY: a receive takes a message of any rank"""
    tag: int = 0
    """of a message; ANY: a receive takes any tag"""
    group: tuple[int, ...] = ()
    """ranks of a collective, in their order; empty: all of the job"""
    root: int = 0
    """rank of the job, of an operation that has a root"""
    after: tuple[int, ...] = ()
    """places in the rank's nodes: those that must be over before it starts"""
    after_start: tuple[int, ...] = ()
    """the same, of those that must have started"""
    lane: int = -1
    """computing of one lane follows one another; -1: it waits for nothing else"""
    line: int = 0
    """of the file; 0: the file has no lines"""


@dataclass(frozen=True, slots=True)
class JobTrace:
    file: str
    """as messages name it"""
    ranks: tuple[tuple[TraceNode, ...], ...]


def refused(
    file: str, rank: int | None, node: TraceNode | None, problem: str, *, found: str = "", allowed: str = ""
) -> ScenarioError:
    """The error for what a trace asks and no run can do. It names the rank and the node."""
    line = node.line if node is not None and node.line else None
    where = "" if rank is None else f"rank {rank}"
    if node is not None:
        where += f", node {node.number}" + (f" ({node.name})" if node.name else "")
    return ScenarioError(
        f"{where}: {problem}" if where else problem, file=file, line=line, found=found or None, allowed=allowed or None
    )
