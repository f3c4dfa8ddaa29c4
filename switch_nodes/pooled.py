"""Switch programs whose jobs have parts of the memory of their own, which stay theirs until they depart."""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, Protocol, TypeVar

from switch_nodes.forwarding import ForwardProgram

__all__ = ["JobPool", "PooledProgram"]


class JobPool(Protocol):
    """A job's part."""

    @property
    def occupied(self) -> int:
        """Slots in use."""
        ...


Pool = TypeVar("Pool", bound=JobPool)


class PooledProgram(ForwardProgram, Generic[Pool]):
    """`LetsJobsGo`: a departed job's part stays empty, since the partition is fixed. Each job's memory is told when it
    departs, or when the switch stops."""

    pools: dict[int, Pool]
    """by id of the job"""

    @property
    def serving(self) -> Collection[int]:
        """Ids of jobs."""
        return self.pools.keys()

    def depart(self, job: int) -> bool:
        """The control plane takes a job away: nothing of it is added any more. False: there is no such job."""
        pool = self.pools.pop(job, None)
        if pool is not None:
            self.tell_end(pool)
        return pool is not None

    @property
    def slots_in_use(self) -> int:
        return sum(pool.occupied for pool in self.pools.values())

    def finish(self, now: int) -> None:
        for pool in self.pools.values():
            self.tell_end(pool)
        super().finish(now)

    def tell_end(self, pool: Pool) -> None:
        """Queue `MemoryAtEnd`."""
        raise NotImplementedError
