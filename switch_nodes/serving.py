"""Switch programs that serve jobs, each with slots of its own or with its share of slots for all, until they depart."""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, Protocol, TypeVar

from switch_nodes.forwarding import ForwardProgram

__all__ = ["ServesSlots", "ServingProgram"]


class ServesSlots(Protocol):
    """A job, as a program serves it."""

    @property
    def occupied(self) -> int:
        """Slots in use."""
        ...


Served = TypeVar("Served", bound=ServesSlots)


class ServingProgram(ForwardProgram, Generic[Served]):
    """`LetsJobsGo`: each job's memory is reported when the job departs, or when the switch stops."""

    served: dict[int, Served]
    """jobs by id of the job"""

    @property
    def serving(self) -> Collection[int]:
        """Ids of jobs."""
        return self.served.keys()

    def depart(self, job: int) -> bool:
        """The control plane takes a job away: nothing of it is added any more. False: there is no such job."""
        gone = self.served.pop(job, None)
        if gone is None:
            return False
        self.tell_end(gone)
        self.clear(gone)
        return True

    @property
    def slots_in_use(self) -> int:
        return sum(served.occupied for served in self.served.values())

    def finish(self, now: int) -> None:
        for served in self.served.values():
            self.tell_end(served)
        super().finish(now)

    def tell_end(self, served: Served) -> None:
        """Queue `MemoryAtEnd`."""
        raise NotImplementedError

    def clear(self, gone: Served) -> None:
        """Free what it had of slots that are for all; slots of its own stay empty, since the partition is fixed."""
