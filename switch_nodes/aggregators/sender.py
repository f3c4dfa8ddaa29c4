"""What leaves a switch of programs `atp` and `esa`: packets that go on, sums, occupants and results, and what is told
of them."""

from __future__ import annotations

from switch_nodes.aggregators.memory import Aggregator, Memory
from switch_nodes.aggregators.packets import Arrival, from_slot, redirected, remade, result_frames
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs, JobMember
from switch_nodes.serving import ServingProgram
from workloads.datagrams.blocks import BlockSummed, PartialSent
from workloads.machine import Buffer
from workloads.wire.aggregation import AggregationHeader, DatagramFlag

__all__ = ["AggregatorSender"]

_ECN, _OVERFLOW, _EDGE = int(DatagramFlag.ECN), int(DatagramFlag.OVERFLOW), int(DatagramFlag.EDGE)


class AggregatorSender(ServingProgram[ServedJob]):
    """The memory, and the ways out of it."""

    def __init__(self, config: SwitchConfig, knobs: AggregatorKnobs) -> None:
        super().__init__(config)
        self.knobs, self.memory = knobs, Memory(config.memory)
        self._now = 0

    def _occupant(self, index: int) -> Aggregator:
        slot = self.memory.slots[index]
        assert slot is not None, "the table asks for this action only of an occupied slot"
        return slot

    def _send_slot(self, a: Arrival, slot: Aggregator, reason: str) -> None:
        """The packet goes on with what is in the slot instead of what it brought."""
        header, served = a.found.header, a.served
        flags = header.flags & ~_EDGE
        if slot.congested or a.congested:
            flags |= _ECN
        if slot.overflow:
            flags |= _OVERFLOW
        if not served.collects and slot.bitmap == slot.target:
            flags |= _EDGE
        self._tell_partial(slot, header.slot, reason)
        self._emit_up(served, header.sequence, remade(a, slot.header_of(header)._replace(flags=flags), slot.payload))

    def _send_occupant(self, a: Arrival, reason: str) -> None:
        """What is in the slot goes to its own server, and the slot is empty."""
        index = a.found.header.slot
        slot = self._occupant(index)
        self.count(reason)
        self._tell_partial(slot, index, reason)
        self._emit_up(slot.served, slot.sequence, from_slot(slot, index))
        self.memory.free(index, self._now)

    def _send_on(self, a: Arrival, added: int) -> None:
        header, flags = a.found.header, a.flags(added)
        frame = bytes(a.frame) if flags == header.flags else remade(a, header._replace(flags=flags), a.found.payload)
        self._emit_up(a.served, header.sequence, frame)

    def _send_result(self, a: Arrival, header: AggregationHeader, payload: Buffer, *, from_service: bool) -> None:
        copy = from_service and self.knobs.ps_copy
        for member, frame in result_frames(a, header, payload, from_service=from_service, copy=copy):
            self.count("results_out")
            self._emit_to(member, frame)

    def _spread(self, a: Arrival) -> None:
        """Switches of other racks may have something, too."""
        for member in a.served.heads:
            self._emit_to(member, redirected(a, member))

    def _emit_up(self, served: ServedJob, sequence: int, frame: bytes) -> None:
        """Towards the server of the job, for the block of this sequence."""
        self._emit_to(served.server, frame)

    def _emit_to(self, member: JobMember, frame: bytes) -> None:
        """Also out of the port that a packet came in by: what leaves is the switch's own."""
        port = self.macs.lookup(member.mac, frame)
        self.emit(member.port if port is None else port, frame)

    def _tell_sum(self, a: Arrival, slot: Aggregator) -> None:
        """Late copies of all contributions make the sum once more: it is the same, and nobody needs it."""
        served, index, repeated = a.served, a.found.header.slot, a.block in a.served.delivered
        if repeated:
            self.count("repeated")
        else:
            served.delivered[a.block] = self._now
            self.tell(BlockSummed(served.job, a.block, index, tuple(slot.entered)))
        if self.knobs.ps_copy:
            self._tell_partial(slot, index, "repeated" if repeated else "complete")

    def _tell_partial(self, slot: Aggregator, index: int, reason: str) -> None:
        entered = tuple(slot.entered)
        self.tell(PartialSent(slot.served.job, slot.block, index, entered, slot.bitmap, reason))
