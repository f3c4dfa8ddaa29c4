"""Program `ps`: what switches do for a plain parameter server (docs/ps.md).

Slots and bitmaps are those of ATP's program; where ATP has two levels, packets here follow trees. Which optimisations a
job wants its `JobConfig` says: `adds`, and results that the server addresses to the service are copied. A job that
wants neither is not told to the switch, which then forwards.
"""

from __future__ import annotations

from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.packets import Arrival, result_frame
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.aggregators.tables import atp_knobs
from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import TreeChild
from switch_nodes.ps.trees import Place, TreeJob, check_trees
from workloads.machine import Buffer
from workloads.wire.aggregation import AggregationHeader, Policy, payload_sum

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
        served, place = a.served, self.place(a.served, a.found.header.sequence)
        member = served.by_ip.get(a.found.dst_ip)
        child = None if member is None else place.child_of(member.rank)
        if member is None:
            super().deliver(a)
        elif child is not None:
            self.emit(child.port, bytes(a.frame))

    def _send_result(self, a: Arrival, header: AggregationHeader, payload: Buffer, *, from_service: bool) -> None:
        """A copy by each port of the tree: to a worker, or to a switch on the way to the first worker behind it."""
        summed = payload_sum(payload)
        for child in self.place(a.served, header.sequence).children:
            self.count("results_out")
            self.emit(child.port, self._copy(a, child, header, payload, summed))

    def _copy(self, a: Arrival, child: TreeChild, header: AggregationHeader, payload: Buffer, summed: int) -> bytes:
        first = a.served.config.members[(child.ranks & -child.ranks).bit_length() - 1]
        to_ip = a.served.config.service_ip if child.host < 0 else first.ip
        return result_frame(a, first.mac, to_ip, header, payload, summed)

    def _emit_up(self, served: ServedJob, sequence: int, frame: bytes) -> None:
        self.emit(self.place(served, sequence).up, frame)

    def place(self, served: ServedJob, sequence: int) -> Place:
        """Of this switch in the tree of an admitted packet's block."""
        assert isinstance(served, TreeJob)
        place = served.place_of(sequence)
        assert place is not None, "it would have passed"
        return place
