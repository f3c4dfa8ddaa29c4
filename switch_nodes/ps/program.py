"""Program `ps`: what switches do for a plain parameter server (docs/ps.md).

Slots and bitmaps are those of ATP's program; where ATP has two levels, packets here follow trees. Which optimisations a
job wants its `JobConfig` says: `adds`, and results that the server addresses to the service are copied. A job that
wants neither is not told to the switch, which then forwards.
"""

from __future__ import annotations

from switch_nodes.aggregators.arrival import Arrival
from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.aggregators.tables import atp_knobs
from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import TreeChild
from switch_nodes.ps.trees import Place, TreeJob, check_trees
from workloads.wire.aggregation import Policy
from workloads.wire.inspected import addressed

__all__ = ["PsProgram"]


class PsProgram(AggregatorProgram):
    """Raises ScenarioError for jobs that cannot be served."""

    policy = Policy.PS
    job_class = TreeJob

    def __init__(self, config: SwitchConfig) -> None:
        check_trees(config)
        super().__init__(config, atp_knobs(config.knobs.reclaim))

    def deliver(self, a: Arrival) -> None:
        """Also what is for one worker stays in the tree: it frees the slots there."""
        assert a.served is not None
        place, rank = self.place(a.served, a.sequence), a.served.ranks.get(a.destination)
        child = None if rank is None else place.child_of(rank)
        if rank is None:
            super().deliver(a)
        elif child is not None:
            self.emit(child.port, a.frame)

    def _send_copies(self, a: Arrival, frame: bytes) -> None:
        """A copy by each port of the tree: to a worker, or to a switch on the way to the first worker behind it."""
        assert a.served is not None
        for child in self.place(a.served, a.sequence).children:
            self.count("results_out")
            self.emit(child.port, self._copy(a, child, frame))

    def _copy(self, a: Arrival, child: TreeChild, frame: bytes) -> bytes:
        assert a.served is not None
        config = a.served.config
        first = config.members[(child.ranks & -child.ranks).bit_length() - 1]
        return addressed(frame, first.mac, config.service_ip if child.host < 0 else first.ip)

    def _emit_up(self, served: ServedJob, sequence: int, frame: bytes) -> None:
        self.emit(self.place(served, sequence).up, frame)

    def place(self, served: ServedJob, sequence: int) -> Place:
        """Of this switch in the tree of an admitted packet's block."""
        assert isinstance(served, TreeJob)
        place = served.place_of(sequence)
        assert place is not None, "it would have passed"
        return place
