"""Where packets of a plain parameter server go, on the compiled path: up and down the tree of their block."""

from __future__ import annotations

import cython

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.aggregators.service import AggregatorService
from switch_nodes.ps.trees import TreeJob, TreePlace

if not cython.compiled:
    from workloads.wire.inspected import addressed

__all__ = ["PsService"]


class PsService(AggregatorService):
    """What differs from ATP's. A subclass may override its methods."""

    def deliver(self, a: AggregatorArrival) -> None:
        """Also what is for one worker stays in the tree: it frees the slots there."""
        assert a.served is not None
        place, rank = self.place(a.served, a.sequence), a.served.ranks.get(a.destination)
        child = None if rank is None else place.child_of(rank)
        if rank is None:
            AggregatorService.deliver(self, a)
        elif child is not None:
            self.outbox.append((child.port, a.frame))

    def _send_copies(self, a: AggregatorArrival, frame: bytes) -> None:
        """A copy by each port of the tree: to a worker, or to a switch on the way to the first worker behind it."""
        assert a.served is not None
        config = a.served.config
        members, service_ip = config.members, config.service_ip
        for port, rank, to_switch in self.place(a.served, a.sequence).copies:
            first = members[rank]
            self._count("results_out")
            self.outbox.append((port, addressed(frame, first.mac, service_ip if to_switch else first.ip)))

    def _emit_up(self, served: ServedJob, sequence: int, frame: bytes) -> None:
        self.outbox.append((self.place(served, sequence).up, frame))

    def place(self, served: ServedJob, sequence: int) -> TreePlace:
        """Of this switch in the tree of an admitted packet's block."""
        assert isinstance(served, TreeJob)
        place = served.place_of(sequence)
        assert place is not None, "it would have passed"
        return place
