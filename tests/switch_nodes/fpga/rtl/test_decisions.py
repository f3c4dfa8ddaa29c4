"""The logic made of the tables answers every pair as the tables do."""

from __future__ import annotations

import pytest

from switch_nodes.netreduce.tables import (
    CONNECTION_TABLE,
    FRAME_TABLE,
    SLOT_TABLE,
    ConnectionEvent,
    ConnectionState,
    FrameKind,
    RingSlotEvent,
    RingSlotState,
)

pytest.importorskip("amaranth", reason="needs Amaranth, which ./tb test installs unless TB_NO_RTL is set")
from amaranth.hdl import Module
from amaranth.sim import Simulator

from switch_nodes.fpga.rtl.decisions import code, decide, decide_frame, signal_of


def _run(m, bench):
    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize(
    ("table", "states", "events"),
    [(CONNECTION_TABLE, ConnectionState, ConnectionEvent), (SLOT_TABLE, RingSlotState, RingSlotEvent)],
    ids=["connection", "slot"],
)
def test_every_pair_of_a_table(table, states, events):
    m, state, event = Module(), signal_of(states, "state"), signal_of(events, "event")
    after, action = decide(m, table, state, event, states, events)

    async def bench(ctx):
        for one in states:
            for cause in events:
                ctx.set(state, code(one))
                ctx.set(event, code(cause))
                await ctx.delay(1e-9)
                assert (ctx.get(after), ctx.get(action)) == tuple(map(code, table[one, cause])), (one, cause)

    _run(m, bench)


def test_every_kind_of_frame():
    m, kind = Module(), signal_of(FrameKind, "kind")
    action = decide_frame(m, kind)

    async def bench(ctx):
        for one, done in FRAME_TABLE.items():
            ctx.set(kind, code(one))
            await ctx.delay(1e-9)
            assert ctx.get(action) == code(done)

    _run(m, bench)
