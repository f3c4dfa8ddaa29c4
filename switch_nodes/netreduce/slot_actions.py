"""What is done to a slot, and what leaves because of it: the actions of the slot tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from switch_nodes.config import SwitchConfig
from switch_nodes.events import MessageAggregated, ResultReplayed, SlotStepped
from switch_nodes.netreduce.contribution import RingContribution
from switch_nodes.netreduce.fabric import LeafRing
from switch_nodes.netreduce.release import RELEASE_POLICIES, release_completed
from switch_nodes.netreduce.results import build_result, ecn_of
from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.tables import RingSlotAction, RingSlotEvent, RingSlotState
from workloads.automaton import words
from workloads.collectives.arithmetic import fold
from workloads.errors import ScenarioError
from workloads.machine import Buffer, Event

__all__ = ["SlotActions", "SlotHandlers", "Switch"]

_CE = 0b11
_PLAIN_DROPS = (
    RingSlotAction.DROP_UNASKED,
    RingSlotAction.DROP_MISMATCH,
    RingSlotAction.DROP_LENGTH,
    RingSlotAction.DROP_STALE,
    RingSlotAction.DROP_OVERRUN,
    RingSlotAction.UNFORESEEN,
)


SlotHandlers = dict[RingSlotAction, Callable[[RingContribution, int], None]]


class Switch(Protocol):
    """What actions ask of the program that they work for."""

    def emit(self, port: int, frame: Buffer) -> None: ...

    def forward(self, port: int, frame: Buffer) -> None: ...

    def count(self, name: str, amount: int = 1) -> None: ...

    def tell(self, event: Event) -> None: ...


class SlotActions:
    """Every action gets a contribution and its slot. `SwitchConfig.release`: order (rule A) or asap."""

    def __init__(self, config: SwitchConfig, switch: Switch) -> None:
        """Raises ScenarioError for an unknown release order."""
        if config.release not in RELEASE_POLICIES:
            raise ScenarioError(
                "unknown release order", key="switch.release", found=config.release, allowed=", ".join(RELEASE_POLICIES)
            )
        self.switch = switch
        self._early = RELEASE_POLICIES[config.release]
        self._traced = config.trace

    def handlers(self) -> SlotHandlers:
        """What is done for each action of the tables that a packet can bring about."""
        return {
            RingSlotAction.STORE: self.store,
            RingSlotAction.STORE_AND_COMPLETE: self.store_and_complete,
            RingSlotAction.REFRESH: self.refresh,
            RingSlotAction.REPLAY: self.replay,
            RingSlotAction.FORWARD_RAW: self.forward_raw,
            RingSlotAction.STORE_AND_SEND_UP: self.store_and_send_up,
            RingSlotAction.SEND_UP_AGAIN: self.send_up_again,
            RingSlotAction.ADOPT: self.adopt,
            RingSlotAction.PASS_DOWN: self.pass_down,
            **dict.fromkeys(_PLAIN_DROPS, self.drop),
        }

    def store(self, c: RingContribution, slot: int) -> None:
        ring, size = c.ring, len(c.elements)
        if not ring.bitmap[slot]:
            ring.length[slot] = size
            ring.occupy(1)
        self._keep_header(c, slot)
        ring.payload[slot, c.rank, :size] = np.frombuffer(c.elements, np.uint8)
        ring.bitmap[slot] = int(ring.bitmap[slot]) | 1 << c.rank
        ring.ce[slot] |= ecn_of(c.packet.frame) == _CE

    def store_and_complete(self, c: RingContribution, slot: int) -> None:
        self.store(c, slot)
        self._sum(c, slot, c.ring.value)
        self._finish_slot(c, slot)

    def store_and_send_up(self, c: RingContribution, slot: int) -> None:
        """A leaf's rack is complete; what leaves on its connections comes from above."""
        assert isinstance(c.ring, LeafRing)
        self.store(c, slot)
        self._sum(c, slot, c.ring.partial)
        self._send_up(c.ring, c.message, slot)

    def send_up_again(self, c: RingContribution, slot: int) -> None:
        assert isinstance(c.ring, LeafRing)
        self._keep_header(c, slot)
        self._send_up(c.ring, c.message, slot)

    def adopt(self, c: RingContribution, slot: int) -> None:
        """The global value, in the packet of the rack before's boundary."""
        self._keep_header(c, slot)
        c.ring.value[slot, : len(c.elements)] = np.frombuffer(c.elements, np.uint8)
        c.ring.ce[slot] |= ecn_of(c.packet.frame) == _CE
        self._finish_slot(c, slot)

    def pass_down(self, c: RingContribution, slot: int) -> None:
        """Host 0 of the rack lacks it, or its ACK was lost."""
        assert isinstance(c.ring, LeafRing)
        self._keep_header(c, slot)
        self.send_result(c.ring, c.ring.boundary, slot)

    def _sum(self, c: RingContribution, slot: int, into: NDArray[np.uint8]) -> None:
        ring, size = c.ring, int(c.ring.length[slot])
        ranks, payloads = self.operands(ring, slot)
        into[slot, :size] = fold(payloads[:, :size], ring.config.arithmetic)
        index = c.message % ring.banks
        np.add.at(ring.entered[index], ranks, 1)
        ring.completed[index] += 1
        packets = ring.packets_of(c.message)
        if ring.completed[index] == packets:
            message, entered = ring.message_id(c.message), tuple(ring.entered[index].tolist())
            self.switch.tell(MessageAggregated(ring.id, message, packets, entered))

    def _finish_slot(self, c: RingContribution, slot: int) -> None:
        ring = c.ring
        ring.done[slot] = 1
        self.reclaim(ring, c.message, c.offset)
        release_completed(
            ring, c.message, c.offset, self._early, lambda rank, ready: self.send_result(ring, rank, ready)
        )

    def refresh(self, c: RingContribution, slot: int) -> None:
        """The newest header counts: AckReq may have moved."""
        self._keep_header(c, slot)

    def replay(self, c: RingContribution, slot: int) -> None:
        """The stored value under the duplicate's own header, to its own connection only."""
        self._keep_header(c, slot)
        self.switch.count("replayed")
        self.switch.tell(ResultReplayed(c.ring.id, c.ring.ranks[c.rank], c.ring.message_id(c.message), c.offset))
        self.send_result(c.ring, c.rank, slot)

    def forward_raw(self, c: RingContribution, slot: int) -> None:
        """Its receiver has the result of this message; whatever arrives is a duplicate to it, and makes it ACK
        again."""
        out = c.ring.raw_exit(c.rank, c.message)
        if out is None:
            self.switch.forward(c.packet.port, c.packet.frame)
        else:
            self.switch.emit(out, bytes(c.packet.frame))

    def drop(self, c: RingContribution, slot: int) -> None:
        """The slot stays as it is; the program reports the reason."""

    def operands(self, ring: Ring, slot: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
        """(ranks, payloads in rank order): what enters the sum of a slot, shape (P,) and (P, mtu)."""
        return np.arange(ring.size), ring.payload[slot]

    def reclaim(self, ring: Ring, message: int, offset: int) -> None:
        """(message, offset) completed, so every host opened `message`. So every host has the result of message - N and
        the ACK of its own, and needs that message no longer. The last slot also clears what lies behind it, which a
        longer message - N used."""
        last = offset == ring.packets_of(message) - 1
        before = message - (ring.banks - ring.window)
        for position in range(offset, ring.message_packets if last else offset + 1):
            slot = ring.slot_of(before, position)
            if before >= 0 and ring.tag[slot] == before:
                self.clear(ring, slot)

    def clear(self, ring: Ring, slot: int) -> None:
        """The slot serves the message 2N later."""
        if self._traced:
            state, event = ring.slot_state(slot), RingSlotEvent.RECLAIM
            self.tell_step(ring, slot, int(ring.tag[slot]), -1, state, event, ring.slot_table[state, event][0])
        if ring.bitmap[slot]:
            ring.occupy(-1)
        ring.tag[slot] += ring.banks
        ring.bitmap[slot] = ring.released[slot] = 0
        ring.done[slot] = ring.ce[slot] = 0
        ring.length[slot] = 0

    def send_result(self, ring: Ring, rank: int, slot: int) -> None:
        """The result of a slot on connection `rank`; of a leaf's boundary, on the one that comes down."""
        row = ring.header_row(rank)
        header = ring.header[slot, row, : ring.header_length[slot, row]]
        ring.note_sent(slot, row)
        value = ring.value[slot, : ring.length[slot]]
        self.switch.count("results_out")
        self.switch.emit(ring.egress[rank], self.build_result(header.tobytes(), value.tobytes(), bool(ring.ce[slot])))

    def _send_up(self, ring: LeafRing, message: int, slot: int) -> None:
        header = ring.header[slot, ring.boundary, : ring.header_length[slot, ring.boundary]]
        partial = ring.partial[slot, : ring.length[slot]]
        self.switch.count("sent_up")
        ring.note_sent(slot, ring.boundary)
        frame = self.build_result(header.tobytes(), partial.tobytes(), bool(ring.ce[slot]))
        self.switch.emit(ring.uplink_of(message), frame)

    def build_result(self, header: bytes, value: bytes, congested: bool) -> bytes:
        return build_result(header, value, congested)

    def _keep_header(self, c: RingContribution, slot: int) -> None:
        size = len(c.header)
        c.ring.header[slot, c.rank, :size] = np.frombuffer(c.header, np.uint8)
        c.ring.header_length[slot, c.rank] = size

    def tell_step(
        self,
        ring: Ring,
        slot: int,
        message: int,
        rank: int,
        state: RingSlotState,
        event: RingSlotEvent,
        after: RingSlotState,
    ) -> None:
        before, cause, following = words(state, event, after)
        rank, table = -1 if rank < 0 else ring.ranks[rank], ring.slot_table.name
        message, offset = ring.message_id(message), slot % ring.message_packets
        self.switch.tell(SlotStepped(ring.id, slot, message, offset, rank, before, cause, following, table))
