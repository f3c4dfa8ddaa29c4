"""The switch program `rtl`: a node whose data path is the card's hardware, simulated cycle by cycle in this process. In
virtual time it takes none: a frame's results leave at the time when it came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from switch_nodes.config import SwitchConfig
from switch_nodes.events import (
    MessageAggregated,
    MessageInferred,
    PacketIgnored,
    ResultReplayed,
    SlotsAtEnd,
    SwitchStatistics,
)
from switch_nodes.fpga.conversion import FPGA_PROGRAM
from switch_nodes.fpga.rtl.names import Happening
from switch_nodes.fpga.rtl.simulation.building import built_library
from switch_nodes.fpga.rtl.simulation.library import Happened, SimulatedCard
from switch_nodes.fpga.rtl.simulation.playing import bring_up, parameters_for, refuse_unfit
from switch_nodes.program import ProgramBase
from workloads.errors import InternalError
from workloads.machine import Buffer, Event

__all__ = ["RtlSwitch", "SlotBook", "create_card"]


class SlotBook:
    """Turns what the status monitor shows into the events of a switch. It counts, and knows no rule of the protocol."""

    def __init__(self, config: SwitchConfig) -> None:
        self._rings = {ring.ring_id: ring for ring in config.rings}
        self._completed: dict[tuple[int, int], int] = {}
        self._occupied = dict.fromkeys(self._rings, 0)
        self._peak, self._open = dict(self._occupied), dict(self._occupied)

    def events_of(self, happened: Happened) -> Iterator[Event]:
        ring, rank, message, offset = happened.ring, happened.rank, happened.message, happened.offset
        if happened.kind is Happening.IGNORED:
            yield PacketIgnored(ring, rank, message, offset, happened.reason)
        elif happened.kind is Happening.INFERRED:
            yield MessageInferred(ring, rank, message, offset)
        elif happened.kind is Happening.REPLAYED:
            yield ResultReplayed(ring, rank, message, offset)
        elif happened.kind is Happening.OCCUPIED:
            self._open[ring] += 1
            self._occupied[ring] += 1
            self._peak[ring] = max(self._peak[ring], self._occupied[ring])
        elif happened.kind is Happening.FREED:
            self._occupied[ring] -= 1
            self._open[ring] -= not happened.packets
        else:
            self._open[ring] -= 1
            count = self._completed.pop((ring, message), 0) + 1
            if count == happened.packets:
                members = len(self._rings[ring].members)
                yield MessageAggregated(ring, message, count, (count,) * members)
            else:
                self._completed[ring, message] = count

    def at_end(self) -> Iterator[SlotsAtEnd]:
        for ring_id, ring in self._rings.items():
            slots = 2 * ring.window_messages * ring.message_packets
            yield SlotsAtEnd(ring_id, slots, self._open[ring_id], self._peak[ring_id])


class RtlSwitch(ProgramBase):
    """A Machine. `card` runs, and is idle between two calls."""

    def __init__(self, config: SwitchConfig, card: SimulatedCard) -> None:
        super().__init__(config)
        self._card = card
        self._driver = bring_up(card, replace(config, program=FPGA_PROGRAM))
        self._book = SlotBook(config)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        """Raises InternalError when the hardware does not become idle again, or breaks a rule of its ports."""
        self._card.push(port, frame)
        if not self._card.run():
            raise InternalError(f"the simulated card {self.config.name} is stuck with a frame at port {port}")
        if self._card.wrong_beats:
            raise InternalError(f"the simulated card {self.config.name} emitted beats that AXI4-Stream does not allow")
        for happened in self._card.happenings():
            self._events += self._book.events_of(happened)
        self._frames += (
            (emitted.port, emitted.frame) for emitted in self._card.emitted() if emitted.port < self.config.ports
        )

    def finish(self, now: int) -> None:
        self._events += self._book.at_end()
        self._events.append(SwitchStatistics(self._driver.counters()))

    @property
    def cycles(self) -> int:
        """Clock cycles of the hardware so far."""
        return self._card.cycle


def create_card(config: SwitchConfig) -> RtlSwitch:
    """The hardware of a switch, running. It does not report the steps of its tables, also where a hunt asks for them.
    Raises ScenarioError for what it cannot be, HostCapabilityError where tools are missing."""
    refuse_unfit(config)
    config = replace(config, trace=False)
    return RtlSwitch(config, SimulatedCard(built_library(parameters_for(config)), bitstream_hash=bytes(range(32))))
