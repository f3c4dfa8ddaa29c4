"""NetReduce programs that are wrong in one way each, and the case that finds it (`netreduce_cases`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from switch_nodes.config import RingConfig, SwitchConfig
from switch_nodes.netreduce.connections import RingConnections
from switch_nodes.netreduce.frames import DataPacket, Edge, FrameReader
from switch_nodes.netreduce.placement import PacketPlace, Placement
from switch_nodes.netreduce.program import NetReduceProgram, RingContribution
from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.slot_actions import SlotActions, SlotHandlers, Switch
from switch_nodes.netreduce.tables import ConnectionEvent, FrameKind, RingSlotAction, RingSlotEvent
from tests.support.slot_mutants import program_with
from workloads.machine import Buffer
from workloads.wire import Aeth, Bth, ImmDt, Nak, Opcode, Packet, decode_packet, encode_packet, psn_add

__all__ = ["MUTANTS"]


@program_with
class ClearedOnArrival(SlotActions):
    """The slot of message m - N is cleared when m arrives, not when it completes."""

    def store(self, c: RingContribution, slot: int) -> None:
        if not c.ring.bitmap[slot]:
            super().reclaim(c.ring, c.message, c.offset)
        super().store(c, slot)

    def reclaim(self, ring: Ring, message: int, offset: int) -> None:
        pass


class _OneBank(Ring):
    banks_per_window = 1


class _ClearedAtOnce(SlotActions):
    def reclaim(self, ring: Ring, message: int, offset: int) -> None:
        pass

    def store_and_complete(self, c: RingContribution, slot: int) -> None:
        super().store_and_complete(c, slot)
        for ready in np.flatnonzero(c.ring.released == c.ring.everyone):
            self.clear(c.ring, int(ready))


class NSlots(NetReduceProgram):
    """N message slots: a slot must serve the next message as soon as it is complete."""

    ring_class = _OneBank
    slot_actions_class = _ClearedAtOnce


class NothingBehindAHole(NetReduceProgram):
    """What is ahead of its connection's next packet is thrown away, though its sender may be finishing a message."""

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(replace(config, gate="epsn"))


class NoTag(NetReduceProgram):
    """A cleared slot serves whatever comes."""

    def slot_event(self, c: RingContribution, slot: int) -> RingSlotEvent:
        tag = int(c.ring.tag[slot])
        c.ring.tag[slot] = c.message
        try:
            return super().slot_event(c, slot)
        finally:
            c.ring.tag[slot] = tag


@program_with
class ReplayToAll(SlotActions):
    def replay(self, c: RingContribution, slot: int) -> None:
        super().replay(c, slot)
        for rank in range(c.ring.size):
            if rank != c.rank:
                self.send_result(c.ring, rank, slot)


@program_with
class NoReplay(SlotActions):
    def replay(self, c: RingContribution, slot: int) -> None:
        pass


@program_with
class ReplayWithOldHeader(SlotActions):
    def _keep_header(self, c: RingContribution, slot: int) -> None:
        if not int(c.ring.bitmap[slot]) & 1 << c.rank:
            super()._keep_header(c, slot)


class _PreviousMessage(RingConnections):
    def infer(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        found = super().infer(rank, psn)
        if found is None:
            return None
        message, offset, _ = found
        packets = self.ring.packets_of(message - 1)
        return message - 1, min(offset, packets - 1), packets


class MiddlesToPreviousMessage(NetReduceProgram):
    table_class = _PreviousMessage


class _NoInference(RingConnections):
    def infer(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        return None


class NoInference(NetReduceProgram):
    table_class = _NoInference


class _FullLengthInference(RingConnections):
    def infer(self, rank: int, psn: int) -> tuple[int, int, int] | None:
        newest = int(self.ring.newest[rank])
        self.ring.announce(newest + 1, self.ring.message_packets)
        return super().infer(rank, psn)


class InferenceWithoutAnnouncement(NetReduceProgram):
    """The next message is taken to have full length."""

    table_class = _FullLengthInference


class HeaderSummed(NetReduceProgram):
    def elements_from(self, packet: DataPacket, offset: int) -> int:
        return packet.payload_at


@program_with
class IcrcNotRedone(SlotActions):
    def build_result(self, header: bytes, value: bytes, congested: bool) -> bytes:
        return super().build_result(header, value, congested)[:-4] + bytes(4)


@program_with
class AckOriginated(SlotActions):
    """The switch acknowledges a contribution itself."""

    def store(self, c: RingContribution, slot: int) -> None:
        super().store(c, slot)
        bth = Bth(Opcode.ACKNOWLEDGE, c.packet.qpn, c.packet.psn)
        self.switch.emit(
            c.packet.port, encode_packet(Packet(decode_packet(c.packet.frame).envelope, bth, aeth=Aeth(0x1F, 0)))
        )


class _PsnModulo(Ring):
    """All connections start at the same PSN here; the switch takes rank 0's."""

    def slot_of(self, message: int, offset: int) -> int:
        known = np.flatnonzero(self.entry_message[0] == message)
        if not known.size:
            return super().slot_of(message, offset)
        return psn_add(int(self.entry_psn[0, known[0]]), offset) % self.slots


class SlotIsPsnModulo(NetReduceProgram):
    ring_class = _PsnModulo


class NakSwallowed(NetReduceProgram):
    def bypass(self, port: int, frame: Buffer) -> None:
        packet = decode_packet(frame)
        if packet is None or packet.aeth is None or packet.aeth.syndrome != Nak.PSN_SEQUENCE:
            super().bypass(port, frame)


class _CountedTwice(SlotActions):
    def __init__(self, config: SwitchConfig, switch: Switch) -> None:
        super().__init__(config, switch)
        self.extra: dict[tuple[int, int], list[tuple[int, np.ndarray]]] = {}

    def refresh(self, c: RingContribution, slot: int) -> None:
        super().refresh(c, slot)
        if not c.ring.done[slot]:
            self.extra.setdefault((c.ring.id, slot), []).append((c.rank, c.ring.payload[slot, c.rank].copy()))

    def operands(self, ring: Ring, slot: int) -> tuple[Any, Any]:
        ranks, payloads = super().operands(ring, slot)
        more = self.extra.pop((ring.id, slot), [])
        if not more:
            return ranks, payloads
        return np.append(ranks, [rank for rank, _ in more]), np.concatenate((payloads, [row for _, row in more]))


@program_with
class RetransmissionCountedTwice(_CountedTwice):
    """A repeated contribution to an open slot enters the sum once more."""


@program_with
class RetransmissionRecounted(_CountedTwice):
    """As before, but the value stays right (as it would with `max`): only the counts tell."""

    def operands(self, ring: Ring, slot: int) -> tuple[Any, Any]:
        ranks, payloads = super().operands(ring, slot)
        payloads = payloads.copy()
        payloads[ring.size :] = 0
        return ranks, payloads


@program_with
class InnocentsReleasedEarly(SlotActions):
    def __init__(self, config: SwitchConfig, switch: Switch) -> None:
        super().__init__(config, switch)
        self._early = lambda ring, _: ring.everyone


@program_with
class NothingReleasedEarly(SlotActions):
    def __init__(self, config: SwitchConfig, switch: Switch) -> None:
        super().__init__(config, switch)
        self._early = lambda ring, _: 0


@program_with
class NewHoleForgotten(SlotActions):
    """Early release happens when a slot completes, not when the head comes to the next hole."""

    def store_and_complete(self, c: RingContribution, slot: int) -> None:
        early = self._early
        if (c.message, c.offset) == c.ring.head():
            self._early = lambda ring, _: 0
        super().store_and_complete(c, slot)
        self._early = early


class HeldResultReplayed(NetReduceProgram):
    def slot_event(self, c: RingContribution, slot: int) -> RingSlotEvent:
        event = super().slot_event(c, slot)
        return RingSlotEvent.REPEAT_ANSWERED if event is RingSlotEvent.REPEAT and c.ring.done[slot] else event


@program_with
class OnlyTheSameOffsetReclaimed(SlotActions):
    """A short message does not clear what a longer one used behind its end."""

    def reclaim(self, ring: Ring, message: int, offset: int) -> None:
        before = message - ring.window
        slot = ring.slot_of(before, offset)
        if before >= 0 and ring.tag[slot] == before:
            self.clear(ring, slot)


class _RawWhenUnknown(Placement):
    def place(self, packet: DataPacket) -> PacketPlace:
        place = super().place(packet)
        return place._replace(event=ConnectionEvent.START_PLAIN) if place.event is ConnectionEvent.ELSEWHERE else place


class UnknownDataForwarded(NetReduceProgram):
    """To provoke a NAK."""

    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self.placement = _RawWhenUnknown(self.tables)


@program_with
class StaleDropped(SlotActions):
    def forward_raw(self, c: RingContribution, slot: int) -> None:
        pass


@program_with
class StaleForwardedUnproven(SlotActions):
    def handlers(self) -> SlotHandlers:
        return super().handlers() | {RingSlotAction.DROP_STALE: self.forward_raw}


class _Trusting(FrameReader):
    def read(self, port: int, frame: Buffer) -> tuple[FrameKind, tuple[Edge, ...], DataPacket | None]:
        packet = decode_packet(frame)
        if packet is not None and packet.info.is_request:
            frame = encode_packet(packet)
        return super().read(port, frame)


class IcrcNotChecked(NetReduceProgram):
    def __init__(self, config: SwitchConfig) -> None:
        super().__init__(config)
        self.reader = _Trusting(self.rings.values())


@program_with
class CongestionForgotten(SlotActions):
    def build_result(self, header: bytes, value: bytes, congested: bool) -> bytes:
        return super().build_result(header, value, False)


class _PlainIsInferred(RingConnections):
    def start_plain(self, rank: int, psn: int) -> None:
        pass


class PlainMessageIgnored(NetReduceProgram):
    """MIDDLEs behind a FIRST without header count for the next message."""

    table_class = _PlainIsInferred


@program_with
class ImmediateChanged(SlotActions):
    """The last packet's immediate data is not the sender's."""

    def build_result(self, header: bytes, value: bytes, congested: bool) -> bytes:
        packet = decode_packet(super().build_result(header, value, congested))
        assert packet is not None
        return encode_packet(packet if packet.imm is None else replace_imm(packet))


def replace_imm(packet: Packet) -> Packet:
    assert packet.imm is not None
    return Packet(packet.envelope, packet.bth, packet.payload, reth=packet.reth, imm=ImmDt(packet.imm.value + 1))


class _ShortTable(Ring):
    """The connection table has room for 2N messages, not 2N + 1."""

    def __init__(self, config: RingConfig, switch: SwitchConfig) -> None:
        super().__init__(config, switch)
        entries = 2 * self.window
        self.entry_message = np.full((self.connections, entries), -1, np.int64)
        self.entry_psn = np.zeros((self.connections, entries), np.int32)
        self.entry_length = np.zeros((self.connections, entries), np.int32)


class ShortConnectionTable(NetReduceProgram):
    """2N entries instead of 2N + 1 in the table of each connection."""

    ring_class = _ShortTable


MUTANTS: dict[type[NetReduceProgram], str] = {
    ClearedOnArrival: "result_lost_while_others_go_on",
    NSlots: "row_2_result_lost",
    NothingBehindAHole: "tail_finished_before_going_back",
    NoTag: "row_8_stale_before_the_message_is_complete",
    ReplayToAll: "row_2_result_lost",
    NoReplay: "row_2_result_lost",
    ReplayWithOldHeader: "row_2_replay_has_the_new_packets_header",
    MiddlesToPreviousMessage: "row_5_first_lost",
    NoInference: "row_5_first_lost",
    InferenceWithoutAnnouncement: "rule_b_needs_an_announced_length",
    HeaderSummed: "lossless",
    IcrcNotRedone: "lossless",
    AckOriginated: "lossless_network",
    SlotIsPsnModulo: "psn_wrap_inside_a_message",
    NakSwallowed: "answers_pass_untouched",
    RetransmissionCountedTwice: "row_11_straggler",
    RetransmissionRecounted: "row_11_straggler",
    InnocentsReleasedEarly: "row_1_only_the_loser_goes_back",
    NothingReleasedEarly: "row_1_data_lost",
    NewHoleForgotten: "rule_a_new_hole",
    HeldResultReplayed: "rule_a_held_result_is_not_replayed",
    OnlyTheSameOffsetReclaimed: "short_messages_leave_no_slots_behind",
    UnknownDataForwarded: "rule_c_never_raw",
    StaleDropped: "row_8_reclaimed_message",
    StaleForwardedUnproven: "row_13_new_qpn",
    IcrcNotChecked: "row_10_corrupted",
    CongestionForgotten: "congestion_mark_reaches_all",
    PlainMessageIgnored: "rule_i_plain_message_between",
    ImmediateChanged: "lossless",
    ShortConnectionTable: "row_8_message_two_windows_back",
}
"""broken program -> name of the case that must fail with it"""
