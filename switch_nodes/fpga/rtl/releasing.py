"""A complete slot: its sum, the slot that it frees, and the results that may leave (`slot_actions.py` and `release.py`
of the program)."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from switch_nodes.fpga.rtl.core import Core
from switch_nodes.fpga.rtl.forwarding import lowest
from switch_nodes.fpga.rtl.names import Happening
from switch_nodes.fpga.rtl.records import BANK_BITS, TAG_BITS

__all__ = ["release_states"]

_RETURNS = ("RELEASE", "ADVANCE", "BEHIND")
"""states after a slot's results have left"""


def release_states(m: Module, e: Core) -> None:
    """FOLD, SEND_ONE, to RELEASE."""
    _fold_states(m, e)
    _reclaim_states(m, e)
    _order_states(m, e)
    _send_states(m, e)


def _fold_states(m: Module, e: Core) -> None:
    folder, record = e.folder, e.record
    m.d.comb += [
        folder.members.eq(e.ring_members), folder.words.eq(e.element_words), folder.op.eq(e.ring_op),
        folder.dtype.eq(e.ring_dtype), folder.payload.eq(e.payload_ram.r_data),
        e.value_ram.w_en.eq(folder.w_en), e.value_ram.w_addr.eq(Cat(folder.w_word, e.slot)),
        e.value_ram.w_data.eq(folder.w_data),
    ]  # fmt: skip
    with m.State("FOLD"):
        m.d.comb += folder.start.eq(1)
        m.d.sync += record.done.eq(1)
        m.next = "FOLDING"
    with m.State("FOLDING"):
        m.d.comb += e.payload_ram.r_addr.eq(Cat(folder.word, folder.read_rank, e.slot))
        with m.If(~folder.busy):
            m.d.comb += [
                e.slot_ram.w_en.eq(1), e.slot_ram.w_addr.eq(e.slot), e.slot_ram.w_data.eq(record.as_value()),
                e.message_ram.r_addr.eq(e.at_message(e.bank)),
            ]  # fmt: skip
            m.next = "RECLAIM"


def _reclaim_states(m: Module, e: Core) -> None:
    """The slot of message - N at this offset; behind the last packet of a short message, those behind it too."""
    message, old = Signal(e.message_shape), Signal(e.slot_shape)
    m.d.comb += [message.eq(e.message_ram.r_data), old.eq(e.slot_ram.r_data)]
    bank, position, stop = Signal(BANK_BITS), Signal(17), Signal(17)
    place, before = Signal.like(e.slot), Signal(32)
    with m.State("RECLAIM"):
        packets = Mux(message.valid & (message.message == e.message), message.packets, 0)
        last = e.offset + 1 == packets
        e.tap.report(m, Happening.COMPLETED, packets=packets)
        early_by = e.plants["freed-early"]
        sum_of = e.bank + e.ring_window + early_by
        wrapped = Mux(sum_of >= e.banks, sum_of - e.banks, sum_of)
        m.d.sync += [
            bank.eq(wrapped), position.eq(e.offset), stop.eq(Mux(last, e.ring_packets, e.offset + 1)),
            before.eq(e.message - e.ring_window + early_by),
        ]  # fmt: skip
        m.next = "RECLAIM_READ"
        with m.If(e.message < e.ring_window):
            m.next = "HEAD"
    with m.State("RECLAIM_READ"):
        m.d.comb += e.slot_ram.r_addr.eq(e.slot_at(bank, position))
        m.d.sync += place.eq(e.slot_at(bank, position))
        m.next = "RECLAIM_CLEAR"
        with m.If(position == stop):
            m.next = "HEAD"
    fresh = Signal(e.slot_shape)
    with m.State("RECLAIM_CLEAR"):
        m.d.comb += [
            fresh.tag.eq(old.tag + e.banks), e.slot_ram.w_addr.eq(place), e.slot_ram.w_data.eq(fresh.as_value()),
            e.slot_ram.w_en.eq(old.tag == before),
        ]  # fmt: skip
        with m.If((old.tag == before) & old.bitmap.any()):
            e.tap.report(m, Happening.FREED, packets=old.done)
        m.d.sync += position.eq(position + 1)
        m.next = "RECLAIM_READ"


def _order_states(m: Module, e: Core) -> None:
    """Rule A: in PSN order; past a hole only where the hole provokes a NAK."""
    record = e.record
    at_head, message = Signal(e.slot_shape), Signal(e.message_shape)
    m.d.comb += [at_head.eq(e.slot_ram.r_data), message.eq(e.message_ram.r_data)]
    passed = Signal(24)
    early = Signal(e.p.members)
    later, later_bank, left = Signal(TAG_BITS), Signal(BANK_BITS), Signal(BANK_BITS + 1)
    position = Signal(17)
    head_slot = e.slot_at(e.head_bank, e.head_offset)

    def send(slot: Value, kept: Value, mask: Value, back: str) -> None:
        """Mark what leaves now as released, and send it."""
        changed = Signal(e.slot_shape, name=f"changed_{back}")
        todo = mask & ~kept.released
        m.d.comb += [
            changed.eq(kept), changed.released.eq(kept.released | todo), e.slot_ram.w_en.eq(1),
            e.slot_ram.w_addr.eq(slot), e.slot_ram.w_data.eq(changed.as_value()),
        ]  # fmt: skip
        m.d.sync += [e.sent.eq(kept), e.sent_slot.eq(slot), e.mask.eq(todo), e.back.eq(_RETURNS.index(back))]
        m.next = "SEND"

    with m.State("HEAD"):
        m.d.comb += e.slot_ram.r_addr.eq(head_slot)
        m.d.sync += passed.eq(0)
        m.next = "PAST_HEAD"
        with m.If((e.message == e.head_message) & (e.offset == e.head_offset)):
            m.next = "ADVANCE"
    missing = Mux(at_head.tag == e.head_message, e.everyone & ~at_head.bitmap, e.everyone)
    allowed = Mux(e.applier.asap | e.plants["past-hole"], e.everyone, missing)
    with m.State("PAST_HEAD"):
        m.d.sync += e.waiting.eq(e.waiting + 1)
        send(e.slot, record, allowed, "RELEASE")
    with m.State("ADVANCE"):
        m.d.comb += [e.slot_ram.r_addr.eq(head_slot), e.message_ram.r_addr.eq(e.at_message(e.head_bank))]
        m.next = "ADVANCE_HEAD"
    with m.State("ADVANCE_HEAD"):
        packets = Mux(message.valid & (message.message == e.head_message), message.packets, 0)
        with m.If(at_head.done & (at_head.tag == e.head_message)):
            send(head_slot, at_head, e.everyone, "ADVANCE")
            m.d.sync += [passed.eq(passed + 1), e.head_offset.eq(e.head_offset + 1)]
            with m.If(e.head_offset + 1 >= packets):
                m.d.sync += [
                    e.head_offset.eq(0), e.head_message.eq(e.head_message + 1),
                    e.head_bank.eq(e.next_of(e.head_bank, e.banks)),
                ]  # fmt: skip
        with m.Else():
            now_waiting = (e.waiting + 1 - passed)[0:24]
            m.d.sync += [
                e.waiting.eq(now_waiting), early.eq(allowed), later.eq(e.head_message), later_bank.eq(e.head_bank),
                left.eq(e.banks), position.eq(e.head_offset + 1),
            ]  # fmt: skip
            m.next = "BEHIND"
            with m.If(now_waiting == 0):
                m.next = "RELEASE"
    # All that waits behind the new hole.
    with m.State("BEHIND"):
        m.d.comb += [
            e.message_ram.r_addr.eq(e.at_message(later_bank)), e.slot_ram.r_addr.eq(e.slot_at(later_bank, position)),
        ]  # fmt: skip
        m.next = "BEHIND_SLOT"
        with m.If(left == 0):
            m.next = "RELEASE"
    with m.State("BEHIND_SLOT"):
        packets = Mux(message.valid & (message.message == later), message.packets, 0)
        m.next = "BEHIND"
        with m.If(position >= packets):
            m.d.sync += [
                position.eq(0), left.eq(left - 1), later.eq(later + 1), later_bank.eq(e.next_of(later_bank, e.banks)),
            ]  # fmt: skip
        with m.Else():
            m.d.sync += position.eq(position + 1)
            with m.If(at_head.done & (at_head.tag == later)):
                send(e.slot_at(later_bank, position), at_head, early, "BEHIND")


def _send_states(m: Module, e: Core) -> None:
    """The result of a slot, on each connection of a bitmap in rank order. It leaves by the port of the next member."""
    emitter, applier = e.emitter, e.applier
    rank, ranks = Signal.like(e.rank), e.mask
    chosen = Signal.like(e.rank)
    m.d.comb += chosen.eq(lowest(ranks))
    facts = Signal(e.header_shape)
    m.d.comb += facts.eq(e.header_facts.r_data)
    with m.State("SEND_ONE"):
        m.d.sync += [e.sent.eq(e.record), e.sent_slot.eq(e.slot), e.back.eq(0)]
        m.d.sync += e.mask.eq(Mux(e.plants["replays-to-all"], e.everyone, e.bit))
        m.next = "SEND"
    with m.State("SEND"):
        following = Mux(chosen + 1 == e.ring_members, 0, chosen + 1)[0 : len(rank)]
        m.d.comb += [
            e.header_facts.r_addr.eq(Cat(chosen, e.sent_slot)),
            applier.members_addr.eq(e.at_connection(e.context, following)),
        ]
        m.d.sync += [rank.eq(chosen), e.mask.eq(ranks & (ranks - 1))]
        m.next = "SEND_START"
        with m.If(~ranks.any()), m.Switch(e.back):
            for number, state in enumerate(_RETURNS):
                with m.Case(number):
                    m.next = state
    with m.State("SEND_START"):
        m.d.comb += emitter.start.eq(1)
        m.d.sync += [
            emitter.port.eq(applier.member_ram.r_data[128:134]), emitter.raw.eq(0), emitter.length.eq(e.sent.length),
            emitter.header_bytes.eq(facts.bytes), emitter.is_ipv6.eq(facts.is_ipv6),
            emitter.mark.eq(e.sent.ce & facts.is_capable), emitter.checksum.eq(facts.checksum),
        ]  # fmt: skip
        m.next = "SENDING"
    with m.State("SENDING"):
        m.d.comb += [
            e.header_ram.r_addr.eq(Cat(emitter.word_header, rank, e.sent_slot)),
            e.header_ram.r_en.eq(emitter.advance),
            e.value_ram.r_addr.eq(Cat(emitter.word_value, e.sent_slot)), e.value_ram.r_en.eq(emitter.advance),
        ]  # fmt: skip
        with m.If(emitter.done):
            e.pulse(m, "results_out")
            e.pulse(m, "frames_out")
            m.next = "SEND"
