"""What some ranks of a job do together, over connections between every two of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MeshTask"]


@dataclass(frozen=True, slots=True)
class MeshTask:
    """One operation of some ranks of a job, over the connections of a mesh."""

    operation: str
    """a key of `workloads.collectives.moves.MOVES`"""
    ranks: tuple[int, ...]
    """ranks of the job that take part, in the order of their group"""
    root: int = 0
    """place in `ranks` of the rank that gives or takes alone, if one does"""
    gives: tuple[int, ...] = ()
    """`swap`: number of elements that this rank gives each member"""
    takes: tuple[int, ...] = ()
    """`swap`: number of elements that this rank takes from each member"""
