"""The program of one rank of a trace: its nodes, what it communicates, and where in its vectors that is. Values only.

A rank has one vector that it gives and one that it holds. Each communication has a part of its own in them, so that no
communication changes what another one still sends.
"""

from __future__ import annotations

from dataclasses import dataclass

from workloads.config import MeshedConfig, WorkerConfig
from workloads.traces.model import ANY

__all__ = ["Communication", "TraceStep", "TracedConfig", "trace_in"]


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A node of the trace."""

    node: int
    """id in the file"""
    name: str
    kind: str
    """as TraceNode.kind"""
    compute_ns: int = 0
    communication: int = -1
    """place of the communication that it begins; -1: a receive takes what came, computing takes none"""
    after: tuple[int, ...] = ()
    """places of the steps that must be over"""
    after_start: tuple[int, ...] = ()
    """places of the steps that must have started"""
    lane: int = -1
    """computing of one lane follows one another; -1: it waits for nothing else"""
    source: int = ANY
    """rank whose message a receive takes; ANY: of any"""
    tag: int = 0


@dataclass(frozen=True, slots=True)
class Communication:
    """A collective that the rank takes part in, or a message that it sends or receives. A communication of one rank has
    no phases."""

    operation: str
    """send, recv, or an operation in `workloads.collectives.operations`"""
    first_phase: int
    """place of its first phase among those of the worker"""
    phases: int
    rank: int
    """place among the ranks of the operation"""
    size: int
    """ranks of the operation"""
    gives_first: int
    """element of the rank's vector"""
    gives: int
    """number of elements"""
    holds_first: int
    """element of the rank's result"""
    holds: int
    """number of elements, those included in which partial sums lie on the way"""
    kept_first: int = 0
    """element among those that it holds, from which on the rank has a result; it sets the others to 0"""
    kept: int = 0
    """number of elements of that result"""
    source: int = ANY
    """of a message: the rank that sends it"""
    tag: int = 0
    sent_by: int = -1
    """of a message: place of the send among the steps of its rank"""
    number: int = -1
    """the same on all ranks that take part, and no other has it"""
    simple: bool = True
    """whether it is one ring with one phase; False: a schedule of several"""
    turn: int = -1
    """place among the sums that another worker of the rank makes one after the other, in the same order on all ranks;
    -1: it has connections of its own"""


@dataclass(frozen=True, slots=True)
class TracedConfig(WorkerConfig):
    """A worker that runs its part of a trace. Its phases are those of all communications; a phase's elements count from
    the beginning of the communication's part. The vectors have `workload.elements` elements."""

    steps: tuple[TraceStep, ...] = ()
    communications: tuple[Communication, ...] = ()


def trace_in(worker: object) -> TracedConfig | None:
    """The trace that a worker runs, or has next to its sums."""
    if isinstance(worker, TracedConfig):
        return worker
    mesh = worker.mesh if isinstance(worker, MeshedConfig) else None
    return mesh if isinstance(mesh, TracedConfig) else None
