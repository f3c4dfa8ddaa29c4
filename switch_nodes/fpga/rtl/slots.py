"""From a placed packet to its slot, and what is kept of it (`switch_nodes/netreduce/program.py`, `slot_actions.py`).
These are the events and actions of `SLOT_TABLE`."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value

from switch_nodes.fpga.rtl.core import Core
from switch_nodes.fpga.rtl.decisions import code, decide
from switch_nodes.fpga.rtl.names import Happening
from switch_nodes.fpga.rtl.parameters import HEADER_BYTES
from switch_nodes.fpga.rtl.placing import distance
from switch_nodes.netreduce.tables import (
    DROP_REASONS,
    SLOT_TABLE,
    ConnectionEvent,
    RingSlotAction,
    RingSlotEvent,
    RingSlotState,
)
from workloads.collectives.ina_header import INA_HEADER_BYTES

__all__ = ["slot_states"]

_CE = 3


def slot_states(m: Module, e: Core) -> None:
    """SLOT, to STORED (a contribution is in its slot), SEND_ONE, FORWARD or RELEASE."""
    h, record, connection = e.headers, e.record, e.connection
    size, bit, starts = e.size, e.bit, e.offset == 0
    serves = record.tag == e.message
    m.d.comb += [
        size.eq(h.payload_bytes - Mux(starts, INA_HEADER_BYTES, 0)), bit.eq(1 << e.rank),
        e.header_bytes.eq(h.payload_at + Mux(starts, INA_HEADER_BYTES, 0)),
    ]  # fmt: skip
    known = connection.known & (connection.qpn == h.qpn)

    with m.State("SLOT"):
        m.d.sync += e.slot.eq(e.slot_at(e.bank, e.offset))
        m.next = "SLOT_READ"
    with m.State("SLOT_READ"):
        m.d.comb += e.slot_ram.r_addr.eq(e.slot)
        m.next = "SLOT_LOAD"
    with m.State("SLOT_LOAD"):
        m.d.sync += record.eq(e.slot_ram.r_data)
        m.next = "SLOT_EVENT"
    with m.State("SLOT_EVENT"):
        delivered = known & (e.message + e.ring_window + 1 <= e.head_message)
        fits = (size <= e.ring_mtu) & (size[0:2] == 0) & (h.pad == 0)
        other = record.bitmap.any() & (size != record.length) & ~e.plants["length-unchecked"]
        event = e.slot_event
        m.next = "GATE"
        with m.If(e.message > record.tag):
            m.d.sync += event.eq(code(RingSlotEvent.OVERRUN))
        with m.Elif(~serves):
            m.d.sync += event.eq(Mux(delivered, code(RingSlotEvent.DELIVERED), code(RingSlotEvent.STALE)))
        with m.Elif(~fits | other):
            m.d.sync += event.eq(code(RingSlotEvent.WRONG_SIZE))
        with m.Elif(~(record.bitmap & bit).any()):
            complete = (record.bitmap | bit) == e.everyone
            m.d.sync += event.eq(Mux(complete, code(RingSlotEvent.COMPLETING), code(RingSlotEvent.NEW)))
        with m.Elif((record.released & bit).any()):
            m.d.sync += event.eq(code(RingSlotEvent.REPEAT_ANSWERED))
        with m.Else():
            m.d.sync += [event.eq(code(RingSlotEvent.REPEAT)), e.step.eq(0)]
            m.next = "COMPARE"
    _elements_states(m, e)
    _note_states(m, e, serves, known)

    with m.State("ACT"):
        state = Mux(
            record.done,
            code(RingSlotState.DONE),
            Mux(record.bitmap.any(), code(RingSlotState.OPEN), code(RingSlotState.EMPTY)),
        )
        here = Signal(range(len(RingSlotState)))
        m.d.comb += here.eq(state)
        _, action = decide(m, SLOT_TABLE, here, e.slot_event, RingSlotState, RingSlotEvent)
        m.d.sync += [e.action.eq(action), e.step.eq(0)]
        m.next = "RELEASE"
        with m.Switch(action):
            for done, reason in DROP_REASONS.items():
                if isinstance(done, RingSlotAction):
                    with m.Case(code(done)):
                        e.ignore(m, reason)
                        if done is RingSlotAction.REFRESH:
                            m.next = "KEEP_HEADER"
                        elif done is RingSlotAction.FORWARD_RAW:
                            m.next = "FORWARD"
            with m.Case(code(RingSlotAction.STORE), code(RingSlotAction.STORE_AND_COMPLETE)):
                m.next = "KEEP_HEADER"
            with m.Case(code(RingSlotAction.REPLAY)):
                e.pulse(m, "replayed")
                e.tap.report(m, Happening.REPLAYED)
                m.next = "KEEP_HEADER"
    _keep_states(m, e)


def _elements_states(m: Module, e: Core) -> None:
    """COMPARE and COPY: the elements of the packet, word by word, against or into the payload of its rank."""
    p, ingress = e.p, e.ingress
    lane_bits = (p.beat - 1).bit_length()
    shift, first = e.header_bytes[0:lane_bits], e.header_bytes[lane_bits:]
    words = e.element_words
    m.d.comb += words.eq((e.size + p.beat - 1) >> lane_bits)
    before, joined = Signal(p.width), Signal(p.width)
    # Headers end two bytes behind a multiple of four.
    choices = [Cat(before[8 * n :], ingress.r_data[: 8 * n]) for n in range(p.beat)]
    m.d.comb += joined.eq(Array(choices[n // 4 * 4 + 2] for n in range(p.beat))[shift])
    number = Signal(24)
    m.d.comb += number.eq(e.step - 2)
    left = Signal(16)
    m.d.comb += left.eq(e.size - (number << lane_bits))
    counted = Cat(Const(0xFF, 8) & (left > lane).replicate(8) for lane in range(p.beat))

    changes = e.plants["payload-replaced"] & (e.step >= 2)

    def at(word: Value) -> Value:
        return Cat(word[0 : len(e.folder.word)], e.rank, e.slot)

    with m.State("COMPARE"):
        m.d.comb += [ingress.r_addr.eq(first + e.step), e.payload_ram.r_addr.eq(at((e.step - 1)[0:24]))]
        m.d.sync += [e.step.eq(e.step + 1), before.eq(ingress.r_data)]
        with m.If((e.step >= 2) & (((joined ^ e.payload_ram.r_data) & counted) != 0)):
            m.d.sync += e.slot_event.eq(code(RingSlotEvent.REPEAT_CHANGED))
        with m.If(changes):
            m.d.comb += [
                e.payload_ram.w_addr.eq(at(number)), e.payload_ram.w_data.eq(joined), e.payload_ram.w_en.eq(1),
            ]  # fmt: skip
        with m.If(e.step == words + 1):
            m.next = "GATE"
        with m.If(words == 0):
            m.next = "GATE"
    with m.State("COPY"):
        m.d.comb += [
            ingress.r_addr.eq(first + e.step), e.payload_ram.w_addr.eq(at(number)), e.payload_ram.w_data.eq(joined),
            e.payload_ram.w_en.eq((e.step >= 2) & (words != 0)),
        ]  # fmt: skip
        m.d.sync += [e.step.eq(e.step + 1), before.eq(ingress.r_data)]
        with m.If((e.step == words + 1) | (words == 0)):
            m.next = "STORED"


def _note_states(m: Module, e: Core, serves: Value, known: Value) -> None:
    """GATE, NOTE: only for packets of the message that the slot serves. What they say of their connection is kept."""
    h, connection = e.headers, e.connection
    entry, message = Signal(e.entry_shape), Signal(e.message_shape)
    m.d.comb += [entry.eq(e.entry_ram.r_data), message.eq(e.message_ram.r_data)]
    claims = Signal()
    at_connection = e.at_connection(e.context, e.rank)
    first_psn = Signal(24)
    m.d.comb += first_psn.eq(h.psn - e.offset)
    fresh = Signal(e.connection_shape)
    m.d.comb += [fresh.known.eq(1), fresh.qpn.eq(h.qpn)]
    is_old = e.event == code(ConnectionEvent.IN_MESSAGE)
    ahead = distance(h.psn, connection.expected)
    expects = known & connection.has_expected

    with m.State("GATE"):
        m.d.sync += [e.step.eq(0), claims.eq(~known)]
        m.next = "NOTE"
        with m.If(~serves):
            m.next = "ACT"
        with m.Elif(e.applier.gated):
            m.next = "NOTE"
            with m.If(expects & (ahead > 0)):
                e.ignore(m, "ahead")
                m.next = "RELEASE"
            with m.Elif(~expects | (ahead == 0)):
                m.next = "EXPECT"
    with m.State("EXPECT"):
        with m.If(claims):
            m.next = "CLAIM"
        with m.Else():
            m.d.sync += [connection.has_expected.eq(1), connection.expected.eq(h.psn + 1)]
            m.next = "NOTE"
    with m.State("NOTE"):
        m.d.comb += [
            e.entry_ram.r_addr.eq(e.at_entry(e.entry)), e.message_ram.r_addr.eq(e.at_message(e.bank)),
        ]  # fmt: skip
        m.next = "NOTE_WRITE"
        with m.If(is_old):
            m.next = "NOTED"
        with m.Elif(claims):
            m.next = "CLAIM"
    with m.State("CLAIM"):  # another QPN than before: its messages are forgotten
        m.d.comb += [
            e.entry_ram.w_en.eq(~e.plants["claim-keeps"]), e.entry_ram.w_addr.eq(e.at_entry(e.step)),
        ]  # fmt: skip
        m.d.sync += [connection.eq(fresh), e.step.eq(e.step + 1), claims.eq(0)]
        m.d.comb += [
            e.registers.qpn_ram.w_en.eq(1), e.registers.qpn_ram.w_addr.eq(at_connection),
            e.registers.qpn_ram.w_data.eq(Cat(h.qpn, 1)),
        ]  # fmt: skip
        with m.If(e.step == e.entries):
            m.d.sync += e.step.eq(0)
            m.next = "NOTE"
            with m.If(e.applier.gated):
                m.next = "EXPECT"
    with m.State("NOTE_WRITE"):
        with m.If(e.event == code(ConnectionEvent.NEXT_MESSAGE)):
            e.pulse(m, "inferred")
            e.tap.report(m, Happening.INFERRED)
        noted, announced = Signal(e.entry_shape), Signal(e.message_shape)
        m.d.comb += [
            noted.valid.eq(1), noted.message.eq(e.message), noted.psn.eq(first_psn), noted.packets.eq(e.packets),
            noted.bank.eq(e.bank), announced.valid.eq(1), announced.message.eq(e.message),
            announced.packets.eq(e.packets), e.entry_ram.w_addr.eq(e.at_entry(e.entry)),
            e.entry_ram.w_data.eq(noted.as_value()), e.message_ram.w_addr.eq(e.at_message(e.bank)),
            e.message_ram.w_data.eq(announced.as_value()),
            e.message_ram.w_en.eq(~message.valid | (message.message != e.message)),
        ]  # fmt: skip
        with m.If(~entry.valid | (entry.message < e.message)):
            m.d.comb += e.entry_ram.w_en.eq(1)
            with m.If(~connection.has_newest | (e.message > connection.newest)):
                m.d.sync += [
                    connection.has_newest.eq(1), connection.newest.eq(e.message), connection.newest_bank.eq(e.bank),
                    connection.newest_entry.eq(e.entry),
                ]  # fmt: skip
                with m.If(connection.is_plain & ~connection.plain_ended):
                    m.d.sync += [connection.plain_ended.eq(1), connection.plain_to.eq(first_psn)]
        m.next = "NOTED"
    with m.State("NOTED"):
        m.d.comb += [
            e.connection_ram.w_en.eq(1), e.connection_ram.w_addr.eq(at_connection),
            e.connection_ram.w_data.eq(connection.as_value()),
        ]  # fmt: skip
        m.next = "ACT"


def _keep_states(m: Module, e: Core) -> None:
    """KEEP_HEADER: the newest header counts. COPY: the first payload does."""
    p, h, record = e.p, e.headers, e.record
    beats = HEADER_BYTES // p.beat
    facts = Signal(e.header_shape)
    m.d.comb += [
        facts.bytes.eq(e.header_bytes), facts.is_ipv6.eq(h.is_ipv6), facts.is_capable.eq(h.ecn != 0),
        facts.checksum.eq(h.marked_checksum),
    ]  # fmt: skip
    last = Signal(range(beats))
    m.d.comb += last.eq((e.header_bytes - 1) >> (p.beat - 1).bit_length())
    stores = (e.action == code(RingSlotAction.STORE)) | (e.action == code(RingSlotAction.STORE_AND_COMPLETE))
    with m.State("KEEP_HEADER"):
        m.d.comb += [
            e.header_ram.w_en.eq(1), e.header_ram.w_addr.eq(Cat(e.step[0 : (beats - 1).bit_length()], e.rank, e.slot)),
            e.header_ram.w_data.eq(e.ingress.header.word_select(e.step[0 : (beats - 1).bit_length()], p.width)),
            e.header_facts.w_en.eq(1), e.header_facts.w_addr.eq(Cat(e.rank, e.slot)),
            e.header_facts.w_data.eq(facts.as_value()),
        ]  # fmt: skip
        with m.If(e.plants["first-header-kept"]):
            m.d.comb += e.header_ram.w_en.eq(stores)
        m.d.sync += e.step.eq(e.step + 1)
        with m.If(e.step == last):
            m.d.sync += e.step.eq(0)
            m.next = "RELEASE"
            with m.If(stores):
                m.next = "COPY"
            with m.Elif(e.action == code(RingSlotAction.REPLAY)):
                m.next = "SEND_ONE"
    with m.State("STORED"):
        changed = Signal(e.slot_shape)
        m.d.comb += [
            changed.eq(record), changed.bitmap.eq(record.bitmap | e.bit), changed.length.eq(e.size),
            changed.ce.eq((record.ce & ~e.plants["mark-lost"]) | (h.ecn == _CE)), e.slot_ram.w_en.eq(1),
            e.slot_ram.w_addr.eq(e.slot),
            e.slot_ram.w_data.eq(changed.as_value()),
        ]  # fmt: skip
        with m.If(~record.bitmap.any()):
            e.tap.report(m, Happening.OCCUPIED)
        m.d.sync += record.eq(changed)
        m.next = "RELEASE"
        with m.If(e.action == code(RingSlotAction.STORE_AND_COMPLETE)):
            m.next = "FOLD"
