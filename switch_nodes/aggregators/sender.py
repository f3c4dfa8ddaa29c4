"""What leaves a switch of programs `atp` and `esa`: packets that go on, sums, occupants, results, and the events about
them."""

from __future__ import annotations

from typing import Any

import cython

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.aggregators.packets import from_slot, redirected
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.aggregators.steps import SlotService
from switch_nodes.aggregators.tables import AggregatorAction, AggregatorEvent, AggregatorState, aggregator_table
from switch_nodes.jobs import AggregatorKnobs, JobMember
from workloads.datagrams.blocks import BlockSummed
from workloads.wire.aggregation import DatagramFlag

if not cython.compiled:
    from switch_nodes.aggregators.packets import of_service, with_flags, with_sum
    from workloads.wire.inspected import addressed

__all__ = ["AggregatorSender"]

_ECN, _OVERFLOW, _EDGE = int(DatagramFlag.ECN), int(DatagramFlag.OVERFLOW), int(DatagramFlag.EDGE)


class AggregatorSender(SlotService):
    """The ways out of the memory. `queues`: counters, events and frames of the program, and `macs` its table of
    ports."""

    def __init__(self, knobs: AggregatorKnobs, slots: int, *queues: Any, macs: Any, traced: bool) -> None:
        kinds = AggregatorState, AggregatorEvent, AggregatorAction
        SlotService.__init__(self, slots, aggregator_table(knobs), kinds, *queues, traced=traced)
        self.knobs, self._macs = knobs, macs

    def _send_slot(self, a: AggregatorArrival, slot: Aggregator, reason: str) -> None:
        """The packet goes on with what is in the slot instead of what it brought."""
        served = a.served
        assert served is not None
        flags = a.flags & ~_EDGE
        if slot.congested or a.congested:
            flags |= _ECN
        if slot.overflow:
            flags |= _OVERFLOW
        if not served.collects and slot.bitmap == slot.target:
            flags |= _EDGE
        self._tell_partial(slot, a.slot, reason)
        self._emit_up(served, a.sequence, with_sum(a, slot, flags, False))

    def _send_occupant(self, a: AggregatorArrival, reason: str) -> None:
        """What is in the slot goes to its own server, and the slot is empty."""
        slot = self._occupant(a.slot)
        self._count(reason)
        self._tell_partial(slot, a.slot, reason)
        self._emit_up(slot.served, slot.sequence, from_slot(slot, a.slot))
        self.memory.free(a.slot, self._now)

    def _send_on(self, a: AggregatorArrival, added: int) -> None:
        served, flags = a.served, a.flags_with(added)
        assert served is not None
        self._emit_up(served, a.sequence, a.frame if flags == a.flags else with_flags(a, flags))

    def _send_sum(self, a: AggregatorArrival, slot: Aggregator) -> None:
        """To all, from the service."""
        served = a.served
        assert served is not None
        flags = (_ECN if slot.congested else 0) | (_OVERFLOW if slot.overflow else 0)
        frame = of_service(with_sum(a, slot, flags, True), served.config.service_mac, served.config.service_ip)
        self._send_copies(a, frame)
        if self.knobs.ps_copy:
            self._send_copy(served.server, frame, served.server.ip)

    def _send_copies(self, a: AggregatorArrival, frame: bytes) -> None:
        """One for each worker of the job here, and one for the switch of each other rack. The latter is addressed to
        the service, on the way to that rack's first worker."""
        served = a.served
        assert served is not None
        for member in served.here:
            self._send_copy(member, frame, member.ip)
        for member in served.heads:
            self._send_copy(member, frame, served.config.service_ip)

    def _send_copy(self, member: JobMember, frame: bytes, ip: bytes) -> None:
        self._count("results_out")
        self._emit_to(member, addressed(frame, member.mac, ip))

    def _spread(self, a: AggregatorArrival) -> None:
        """Switches of other racks may have something, too."""
        assert a.served is not None
        for member in a.served.heads:
            self._emit_to(member, redirected(a, member))

    def _emit_up(self, served: ServedJob, sequence: int, frame: bytes) -> None:
        """Towards the server of the job, for the block of this sequence."""
        self._emit_to(served.server, frame)

    def _emit_to(self, member: JobMember, frame: bytes) -> None:
        """Also out of the port that a packet came in by: what leaves is the switch's own."""
        port = self._macs.lookup(member.mac, frame)
        self.outbox.append((member.port if port is None else port, frame))

    def _tell_sum(self, a: AggregatorArrival, slot: Aggregator) -> None:
        """Late copies of all contributions make the same sum again. No host needs it."""
        served = a.served
        assert served is not None
        repeated = a.block in served.delivered
        if repeated:
            self._count("repeated")
        else:
            served.delivered[a.block] = self._now
            self.events.append(BlockSummed(served.job, a.block, a.slot, tuple(slot.entered)))
        if self.knobs.ps_copy:
            self._tell_partial(slot, a.slot, "repeated" if repeated else "complete")
