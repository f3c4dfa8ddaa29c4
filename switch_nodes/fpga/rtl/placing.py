"""From a data packet to its message and offset (`switch_nodes/netreduce/placement.py`, `connections.py`): the events of
`CONNECTION_TABLE`."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from switch_nodes.fpga.rtl.core import Core
from switch_nodes.fpga.rtl.decisions import code, decide
from switch_nodes.netreduce.tables import (
    CONNECTION_TABLE,
    DROP_REASONS,
    ConnectionEvent,
    ConnectionState,
    FrameAction,
)

__all__ = ["distance", "in_plain", "place_states"]

_PSN_BITS = 24


def distance(later: Value, earlier: Value) -> Value:
    """Signed distance of two PSNs, 24 bits."""
    return (later - earlier)[0:_PSN_BITS].as_signed()


def in_plain(connection: Signal, psn: Value) -> Value:
    """Whether a PSN lies behind a FIRST or ONLY without INA header."""
    return (
        connection.is_plain
        & (distance(psn, connection.plain_from) >= 0)
        & (~connection.plain_ended | (distance(psn, connection.plain_to) < 0))
    )


def place_states(m: Module, e: Core) -> None:
    """PLACE, to SLOT, BYPASS or RELEASE."""
    h, connection = e.headers, e.connection
    entry, message = Signal(e.entry_shape), Signal(e.message_shape)
    m.d.comb += [entry.eq(e.entry_ram.r_data), message.eq(e.message_ram.r_data)]
    ring = code(ConnectionState.RING)

    with m.State("PLACE"):
        m.d.sync += [
            e.context.eq(Mux(e.is_known, e.known_context, e.first_context)),
            e.rank.eq(Mux(e.is_known, e.known_rank, e.first_rank)),
            e.state.eq(Mux(e.is_known, ring, code(ConnectionState.UNKNOWN))),
        ]
        m.next = "CONNECTION_READ"
        with m.If(h.starts & h.is_ina & e.is_named):
            m.d.sync += [e.context.eq(e.named_context), e.rank.eq(e.named_rank)]
    with m.State("CONNECTION_READ"):
        m.d.comb += e.connection_ram.r_addr.eq(e.at_connection(e.context, e.rank))
        m.next = "CONNECTION"
    with m.State("CONNECTION"):
        m.d.sync += [connection.eq(e.connection_ram.r_data), e.step.eq(0)]
        with m.If(h.starts & h.is_ina & e.is_named):
            m.next = "DIVIDE"
        with m.Elif(e.is_known):
            m.next = "MATCH"
        with m.Elif(h.starts):
            m.d.sync += e.event.eq(code(ConnectionEvent.START_PLAIN))
            m.next = "DECIDE"
        with m.Else():
            m.d.sync += e.event.eq(code(ConnectionEvent.ELSEWHERE))
            m.next = "PLAIN"
    _start_states(m, e, entry, message)
    _match_states(m, e, entry, message)
    _plain_states(m, e)

    with m.State("DECIDE"):
        after, action = decide(m, CONNECTION_TABLE, e.state, e.event, ConnectionState, ConnectionEvent)
        m.d.sync += e.step.eq(0)
        with m.Switch(action):
            with m.Case(code(FrameAction.AGGREGATE), code(FrameAction.INFER)):
                m.next = "SLOT"
            with m.Case(code(FrameAction.BYPASS)):
                m.next = "BYPASS"
                with m.If(after == code(ConnectionState.PLAIN)):
                    m.next = "PLAIN"
            for done, reason in DROP_REASONS.items():
                if isinstance(done, FrameAction):
                    with m.Case(code(done)):
                        e.ignore(m, reason)
                        m.next = "RELEASE"


def _start_states(m: Module, e: Core, entry: Signal, message: Signal) -> None:
    """DIVIDE: a FIRST or ONLY with an INA header of an installed ring. Does it fit what is known?"""
    h, connection = e.headers, e.connection
    rests = [Signal(6, name="rest_banks"), Signal(6, name="rest_entries")]
    good = Signal()
    known = connection.known & (connection.qpn == h.qpn)
    gaps = connection.is_plain
    with m.State("DIVIDE"):  # message mod 2N, message mod (2N+1), bit by bit
        with m.If(e.step == 0):
            m.d.sync += [rest.eq(0) for rest in rests]
        with m.Else():
            for rest, divisor in zip(rests, (e.banks, e.entries), strict=True):
                doubled = Cat(h.message.bit_select((32 - e.step)[0:5], 1), rest)
                m.d.sync += rest.eq(Mux(doubled >= divisor, doubled - divisor, doubled))
        m.d.sync += e.step.eq(e.step + 1)
        with m.If(e.step == 32):
            m.next = "START_READ"
    with m.State("START_READ"):
        m.d.sync += [
            e.is_placed.eq(1), e.message.eq(h.message), e.bank.eq(rests[0]), e.entry.eq(rests[1]), e.offset.eq(0),
            e.packets.eq(h.packets),
        ]  # fmt: skip
        m.d.comb += [
            e.message_ram.r_addr.eq(e.at_message(rests[0])), e.entry_ram.r_addr.eq(e.at_entry(rests[1])),
        ]  # fmt: skip
        m.next = "START_SAME"
    with m.State("START_SAME"):
        announced = message.valid & (message.message == e.message)
        same = entry.valid & (entry.message == e.message)
        is_good = (
            (h.op == e.ring_op) & (h.dtype == e.ring_dtype) & (h.packets >= 1) & (h.packets <= e.ring_packets)
            & (h.ends == (h.packets == 1)) & (~announced | (message.packets == h.packets))
            & (~known | ~same | ((entry.psn == h.psn) & (entry.packets == h.packets)))
        )  # fmt: skip
        m.d.sync += good.eq(is_good)
        m.d.comb += e.entry_ram.r_addr.eq(e.at_entry(e.before(e.entry, e.entries)))
        m.next = "START_BEFORE"
    with m.State("START_BEFORE"):
        there = known & ~gaps & entry.valid & (e.message != 0) & (entry.message == (e.message - 1)[0:32])
        with m.If(there & ((entry.psn + entry.packets)[0:_PSN_BITS] != h.psn)):
            m.d.sync += good.eq(0)
        m.d.comb += e.entry_ram.r_addr.eq(e.at_entry(e.next_of(e.entry, e.entries)))
        m.next = "START_AFTER"
    with m.State("START_AFTER"):
        there = known & ~gaps & entry.valid & (entry.message == e.message + 1)
        with m.If(there & ((h.psn + h.packets)[0:_PSN_BITS] != entry.psn)):
            m.d.sync += good.eq(0)
        m.d.comb += e.entry_ram.r_addr.eq(e.at_entry(connection.newest_entry))
        m.next = "START_NEWEST"
    with m.State("START_NEWEST"):
        there = known & connection.has_newest & entry.valid & (entry.message == connection.newest)
        wrong = there & ((distance(h.psn, entry.psn) > 0) != (e.message > connection.newest))
        m.d.sync += e.event.eq(Mux(good & ~wrong, code(ConnectionEvent.START_INA), code(ConnectionEvent.START_BAD)))
        m.next = "DECIDE"


def _match_states(m: Module, e: Core, entry: Signal, message: Signal) -> None:
    """MATCH: in which message of its connection does the PSN lie?"""
    h, connection = e.headers, e.connection
    found = Signal()
    behind = Signal(_PSN_BITS)
    with m.State("MATCH"):
        m.d.comb += e.entry_ram.r_addr.eq(e.at_entry(e.step))
        m.d.sync += e.step.eq(e.step + 1)
        with m.If(e.step == 0):
            m.d.sync += found.eq(0)
        at = (h.psn - entry.psn)[0:_PSN_BITS]
        unwrapped = e.plants["psn-wraps-wrong"] & (h.psn < entry.psn)
        with m.If(~unwrapped & (e.step != 0) & entry.valid & (at < entry.packets) & ~found):
            m.d.sync += [
                found.eq(1), e.message.eq(entry.message), e.bank.eq(entry.bank), e.offset.eq(at),
                e.packets.eq(entry.packets), e.entry.eq(e.step - 1),
            ]  # fmt: skip
        with m.If(e.step == e.entries):
            m.next = "MATCHED"
    plain = in_plain(connection, h.psn)
    with m.State("MATCHED"):
        misplaced = (e.offset == 0) | (h.ends != (e.offset == e.packets - 1))
        m.next = "DECIDE"
        with m.If(h.starts):
            m.d.sync += e.event.eq(Mux(found, code(ConnectionEvent.START_BAD), code(ConnectionEvent.START_PLAIN)))
            with m.If(~found & ~plain):
                changed = Signal(e.connection_shape)
                m.d.comb += [
                    changed.eq(connection), changed.is_plain.eq(1), changed.plain_from.eq(h.psn),
                    changed.plain_ended.eq(0), e.connection_ram.w_en.eq(1),
                    e.connection_ram.w_addr.eq(e.at_connection(e.context, e.rank)),
                    e.connection_ram.w_data.eq(changed.as_value()),
                ]  # fmt: skip
        with m.Elif(found):
            m.d.sync += e.is_placed.eq(1)
            m.d.sync += e.event.eq(Mux(misplaced, code(ConnectionEvent.MISPLACED), code(ConnectionEvent.IN_MESSAGE)))
        with m.Elif(plain):
            m.d.sync += e.event.eq(code(ConnectionEvent.IN_PLAIN))
        with m.Else():  # the message behind the newest one, whose length another rank announced?
            m.d.comb += [
                e.entry_ram.r_addr.eq(e.at_entry(connection.newest_entry)),
                e.message_ram.r_addr.eq(e.at_message(e.next_of(connection.newest_bank, e.banks))),
            ]
            m.next = "INFER"
    with m.State("INFER"):
        there = entry.valid & connection.has_newest & (entry.message == connection.newest) & ~connection.is_plain
        announced = message.valid & (message.message == connection.newest + 1)
        m.d.comb += behind.eq(h.psn - entry.psn - entry.packets)
        with m.If(there & announced & (behind < message.packets)):
            ends_there = behind == message.packets - 1
            m.d.sync += [
                e.is_placed.eq(1),
                e.message.eq(connection.newest + 1), e.bank.eq(e.next_of(connection.newest_bank, e.banks)),
                e.entry.eq(e.next_of(connection.newest_entry, e.entries)), e.offset.eq(behind),
                e.packets.eq(message.packets),
                e.event.eq(
                    Mux(
                        (behind == 0) | (h.ends != ends_there), code(ConnectionEvent.MISPLACED),
                        code(ConnectionEvent.NEXT_MESSAGE),
                    )
                ),
            ]  # fmt: skip
        with m.Else():
            m.d.sync += e.event.eq(code(ConnectionEvent.ELSEWHERE))
        m.next = "DECIDE"


def _plain_states(m: Module, e: Core) -> None:
    """PLAIN: is the connection remembered as one without INA header? A FIRST or ONLY is put there."""
    h, p = e.headers, e.p
    key = Cat(h.src_ip[0:128], h.dst_ip[0:128], h.qpn)
    found = Signal()
    with m.State("PLAIN"):
        m.d.comb += e.plain_ram.r_addr.eq(e.step)
        m.d.sync += e.step.eq(e.step + 1)
        with m.If(e.step == 0):
            m.d.sync += found.eq(0)
        with m.Elif(e.plain_ram.r_data == key):
            m.d.sync += found.eq(1)
        with m.If(e.step == e.plain_count):
            m.next = "PLAIN_FOUND"
    with m.State("PLAIN_FOUND"):
        with m.If(e.event == code(ConnectionEvent.START_PLAIN)):
            m.next = "BYPASS"
            with m.If(~found):
                m.d.comb += [
                    e.plain_ram.w_en.eq(1), e.plain_ram.w_addr.eq(e.plain_next), e.plain_ram.w_data.eq(key),
                ]  # fmt: skip
                m.d.sync += e.plain_next.eq(Mux(e.plain_next == p.plain - 1, 0, e.plain_next + 1))
                with m.If(e.plain_count != p.plain):
                    m.d.sync += e.plain_count.eq(e.plain_count + 1)
        with m.Elif(e.state == code(ConnectionState.PLAIN)):  # decided already
            m.next = "BYPASS"
        with m.Else():
            m.next = "DECIDE"
            with m.If(found):
                m.d.sync += e.state.eq(code(ConnectionState.PLAIN))
