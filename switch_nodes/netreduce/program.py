"""The NetReduce switch program (He, Liu et al., arXiv 2009.09736 and ASPLOS'23; reconstruction: see
`docs/netreduce.md`).

RC connections run from host to host and end there. The switch holds the packet of every ring connection for one
(message, offset) until it has all of them. Then it sends each on with the sum as payload. Over several switches, a leaf
sums its rack and a spine the racks (`fabric`). It never makes an ACK, NAK or CNP, and never changes a PSN or a QPN. The
endpoints do the recovery, and the switch only keeps what they need for it. What it does with a packet is decided by
`tables`; here are the events and the actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from switch_nodes.config import LeafLinks, RingConfig, SpineLinks, SwitchConfig
from switch_nodes.events import (
    ConnectionStepped,
    FrameStepped,
    MessageInferred,
    PacketIgnored,
    RingsInstalled,
    SlotsAtEnd,
)
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.netreduce.answers import AnswerMaps
from switch_nodes.netreduce.connections import RingConnections
from switch_nodes.netreduce.contribution import RingContribution
from switch_nodes.netreduce.fabric import FabricTable, LeafRing, SpineRing
from switch_nodes.netreduce.frames import DataPacket, Edge, FrameReader, elements_at, elements_fit
from switch_nodes.netreduce.held import bytes_in_slots, slot_waits
from switch_nodes.netreduce.placement import PacketPlace, Placement
from switch_nodes.netreduce.ring import Cursor, Ring
from switch_nodes.netreduce.slot_actions import SlotActions
from switch_nodes.netreduce.tables import (
    CONNECTION_TABLE,
    DROP_REASONS,
    FRAME_TABLE,
    ConnectionEvent,
    ConnectionState,
    FrameAction,
    FrameKind,
    RingSlotEvent,
)
from switch_nodes.program import SlotWait
from switch_nodes.queued import Queued
from workloads.automaton import words
from workloads.errors import ScenarioError
from workloads.machine import Buffer
from workloads.quick import Quick
from workloads.rc.transport import RELIABLE

__all__ = ["NetReduceProgram", "RingContribution"]

_after, _distance = RELIABLE.after, RELIABLE.distance

GATES = ("window", "epsn")
_AHEAD = "ahead"
_COUNTERS = ("data_in", "results_out", "sent_up", "replayed", "inferred", "bypassed", "trimmed", "malformed")


class NetReduceProgram(ForwardProgram):
    """`SwitchConfig.release`: order (rule A) or asap. `gate`: window, or epsn to drop what is ahead on its
    connection."""

    slot_actions_class = SlotActions
    ring_class = Ring
    leaf_ring_class = LeafRing
    spine_ring_class = SpineRing
    table_class = RingConnections
    fabric_table_class = FabricTable
    maps_class = AnswerMaps
    counter_names = (*ForwardProgram.counter_names, *_COUNTERS, *dict.fromkeys(DROP_REASONS.values()), _AHEAD)

    def __init__(self, config: SwitchConfig) -> None:
        """Raises ScenarioError for a configuration that cannot be installed."""
        super().__init__(config)
        self._traced = config.trace
        self.slot_actions = self.slot_actions_class(config, self)
        self._handlers = self.slot_actions.handlers()
        if config.gate not in GATES:
            raise ScenarioError("unknown gate", key="switch.gate", found=config.gate, allowed=", ".join(GATES))
        self._gated = config.gate == "epsn"
        self.rings: dict[int, Ring] = {}
        self.tables: dict[int, RingConnections] = {}
        self.placement = Placement(self.tables)
        self._set_rings(self._make_rings(config.rings))

    @property
    def quick(self) -> Quick | None:
        """None: of a subclass, which may do any of it in another way."""
        return Queued(self, self._events, self._frames) if type(self) is NetReduceProgram else None

    def install(self, rings: Sequence[RingConfig]) -> None:
        """From now on these rings are installed, and no others. A ring that is there with the very same configuration
        keeps its state. A ring that differs in anything, including its generation, restarts. Frames that were released
        leave. Raises ScenarioError, and changes nothing, for rings that cannot be installed."""
        fresh, before = self._make_rings(rings), dict(self.rings)
        removed = [ring for ring in before.values() if fresh.get(ring.id) is not ring]
        for ring in removed:
            self._tell_slots(ring)
        self._set_rings(fresh)
        self.config = replace(self.config, rings=tuple(rings))
        kept = tuple(ring_id for ring_id, ring in fresh.items() if before.get(ring_id) is ring)
        installed = tuple(ring_id for ring_id in fresh if ring_id not in kept)
        self.tell(RingsInstalled(installed, tuple(ring.id for ring in removed), kept))

    def _make_rings(self, configs: Sequence[RingConfig]) -> dict[int, Ring]:
        rings: dict[int, Ring] = {}
        for config in configs:
            if config.ring_id in rings:
                raise ScenarioError(f"switch {self.config.name}: ring {config.ring_id} is installed twice")
            there = self.rings.get(config.ring_id)
            same = there is not None and there.config == config
            rings[config.ring_id] = there if there is not None and same else self._make_ring(config)
        return rings

    def _make_ring(self, config: RingConfig) -> Ring:
        kind: type[Ring] = self.ring_class
        if isinstance(config.links, LeafLinks):
            kind = self.leaf_ring_class
        elif isinstance(config.links, SpineLinks):
            kind = self.spine_ring_class
        return kind(config, self.config)

    def _make_table(self, ring: Ring) -> RingConnections:
        return self.table_class(ring) if ring.config.links is None else self.fabric_table_class(ring)

    def _set_rings(self, rings: dict[int, Ring]) -> None:
        """In place: the placement looks into the same tables."""
        self.rings.clear()
        self.rings.update(rings)
        self.tables.clear()
        self.tables.update((ring_id, self._make_table(ring)) for ring_id, ring in rings.items())
        self.reader = FrameReader(rings.values())
        self._maps = self.maps_class(self.reader, self.tables)
        self._tells_held = any(ring.tells_held for ring in rings.values())

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        kind, edges, packet = self.reader.read(port, frame)
        action = FRAME_TABLE[kind]
        if self._traced:
            self.tell(FrameStepped(*words(kind, action)))
        if kind is FrameKind.TRIMMED:
            self.count("trimmed")
        elif edges:
            self.count("data_in")
        if action is FrameAction.BYPASS:
            self.bypass(port, frame)
        elif action is FrameAction.CONNECTION and packet is not None:
            self._receive_data(packet)
        else:
            self._ignore(edges[0], -1, -1, DROP_REASONS[action])

    def bypass(self, port: int, frame: Buffer) -> None:
        """What is not ours passes as through a plain switch; but maps take along what waits here."""
        self.count("bypassed")
        mapped = self._maps.read(frame) if self._tells_held else None
        if mapped is None:
            self.forward(port, frame)
        elif mapped.port is None:
            self.forward(port, mapped.frame)
        else:
            self.emit(mapped.port, mapped.frame)

    def _receive_data(self, packet: DataPacket) -> None:
        place = self.placement.place(packet)
        state, action = CONNECTION_TABLE[place.state, place.event]
        if self._traced:
            names = words(place.state, place.event, state, action)
            edge = place.edge
            self.tell(ConnectionStepped(edge.ring.id, edge.ring.ranks[edge.rank], packet.qpn, *names))
        if action is FrameAction.AGGREGATE or action is FrameAction.INFER:
            self._aggregate(packet, place)
        elif action is FrameAction.BYPASS:
            if state is ConnectionState.PLAIN:
                self.placement.note_plain(packet)
            self.bypass(packet.port, packet.frame)
        else:
            self._ignore(place.edge, place.message, place.offset, DROP_REASONS[action])

    def _aggregate(self, packet: DataPacket, place: PacketPlace) -> None:
        ring = place.edge.ring
        ring.note_came(place.edge.rank, packet.port, packet.psn)
        contribution = RingContribution(packet, place, self.elements_from(packet, place.offset))
        slot = ring.slot_of(place.message, place.offset)
        event = self.slot_event(contribution, slot)
        if ring.tag[slot] == place.message:
            if self._gated and place.edge.rank < ring.size and self._is_ahead(packet, place.edge):
                self._ignore(place.edge, place.message, place.offset, _AHEAD)
                return
            self._note_message(packet, place)
        state = ring.slot_state(slot)
        after, action = ring.slot_table[state, event]
        if self._traced:
            self.slot_actions.tell_step(ring, slot, place.message, place.edge.rank, state, event, after)
        if action in DROP_REASONS:
            self._ignore(place.edge, place.message, place.offset, DROP_REASONS[action])
        self._handlers[action](contribution, slot)

    def _is_ahead(self, packet: DataPacket, edge: Edge) -> bool:
        """Gate `epsn`: nothing ahead of a gap is taken, which hides gaps from receivers (kept for comparison)."""
        ring, rank = edge.ring, edge.rank
        expected = int(ring.expected[rank]) if ring.qpn[rank] == packet.qpn else -1
        distance = 0 if expected < 0 else _distance(packet.psn, expected)
        if distance == 0:
            self.tables[ring.id].claim(rank, packet.qpn)
            ring.expected[rank] = _after(packet.psn, 1)
        return distance > 0

    def _note_message(self, packet: DataPacket, place: PacketPlace) -> None:
        (ring, rank), table = (place.edge.ring, place.edge.rank), self.tables[place.edge.ring.id]
        if place.event is ConnectionEvent.IN_MESSAGE:
            return
        if place.event is ConnectionEvent.NEXT_MESSAGE:
            self.count("inferred")
            message = ring.message_id(place.message)
            self.tell(MessageInferred(ring.id, ring.ranks[rank], message, place.offset))
        table.claim(rank, packet.qpn)
        ring.announce(place.message, place.packets)
        table.put(rank, place.message, _after(packet.psn, -place.offset), place.packets)

    def elements_from(self, packet: DataPacket, offset: int) -> int:
        """Byte of the frame where the elements begin."""
        return elements_at(packet.payload_at, offset)

    def slot_event(self, c: RingContribution, slot: int) -> RingSlotEvent:
        """What the packet is to its slot."""
        ring, tag = c.ring, int(c.ring.tag[slot])
        if c.message != tag:
            if c.message > tag:
                return RingSlotEvent.OVERRUN
            # Only the connection that carried the message to its end has a receiver that has it. Under IRN nothing but
            # this packet would come from a sender whose answers were lost, however much is missing in front.
            known = self.tables[ring.id].is_known(c.rank, c.packet.qpn)
            delivered = known and (ring.is_irn or c.message <= ring.newest_complete - ring.window)
            return RingSlotEvent.DELIVERED if delivered else RingSlotEvent.STALE
        fits = elements_fit(len(c.elements), ring) and not c.packet.data.is_padded
        if not fits or (ring.bitmap[slot] and len(c.elements) != ring.length[slot]):
            return RingSlotEvent.WRONG_SIZE
        return ring.slot_event(slot, c.rank, c.elements)

    def _ignore(self, edge: Edge, message: int, offset: int, reason: str) -> None:
        self.count(reason)
        ring, message = edge.ring, message if message < 0 else edge.ring.message_id(message)
        self.tell(PacketIgnored(ring.id, ring.ranks[edge.rank], message, offset, reason))

    @property
    def slots_in_use(self) -> int:
        return sum(int(ring.cursor[Cursor.OCCUPIED]) for ring in self.rings.values())

    def bytes_in_slots(self) -> Mapping[int, int]:
        """As `switch_nodes.program.bytes_in_slots`."""
        return bytes_in_slots(self.rings.values())

    def slot_waits(self) -> Sequence[SlotWait]:
        """As `switch_nodes.program.slot_waits`."""
        return slot_waits(self.rings.values())

    def finish(self, now: int) -> None:
        for ring in self.rings.values():
            self._tell_slots(ring)
        super().finish(now)

    def _tell_slots(self, ring: Ring) -> None:
        self.tell(SlotsAtEnd(ring.id, ring.slots, ring.open_slots, int(ring.cursor[Cursor.PEAK])))
