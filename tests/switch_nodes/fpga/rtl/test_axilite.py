"""The AXI4-Lite port before the register bus: drawn accesses, waits on either side."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

amaranth = pytest.importorskip("amaranth")

from switch_nodes.fpga.rtl.axilite import OKAY, SLVERR, AxiLite, axi_pins  # noqa: E402
from tests.support.rtl import needs_simulation, simulate  # noqa: E402

_WAIT = st.integers(0, 3)
_ACCESS = st.tuples(
    st.sampled_from(("read", "write", "part")), st.integers(0, 7), st.integers(0, 0xFFFFFFFF), _WAIT, _WAIT, _WAIT
)


async def _until(ctx, pin):
    for _ in range(50):
        if ctx.get(pin):
            return
        await ctx.tick()
    raise AssertionError(f"{pin.name} never comes")


@settings(max_examples=30, deadline=None)
@given(st.lists(_ACCESS, min_size=1, max_size=8))
def test_accesses_reach_the_bus_once_and_are_answered(accesses):
    """`accesses`: kind, word, value, cycles between address and data, cycles of the bus, cycles until the answer is
    taken."""
    port, memory, seen = AxiLite(), dict.fromkeys(range(8), 0), []

    async def bus(ctx, wait):
        """One access of the bus, as the registers answer it."""
        await _until(ctx, port.strobe)
        for _ in range(wait):
            await ctx.tick()
            assert ctx.get(port.strobe)
        word = ctx.get(port.address) // 4
        if ctx.get(port.write):
            memory[word] = ctx.get(port.w_data)
        seen.append((word, ctx.get(port.write)))
        ctx.set(port.r_data, memory[word])
        ctx.set(port.ack, 1)
        await ctx.tick()
        ctx.set(port.ack, 0)
        assert not ctx.get(port.strobe)

    async def bench(ctx):
        wanted = []
        for kind, word, value, apart, wait, held in accesses:
            if kind == "read":
                ctx.set(port.araddr, 4 * word)
                ctx.set(port.arvalid, 1)
                await _until(ctx, port.arready)
                await ctx.tick()
                ctx.set(port.arvalid, 0)
                wanted.append((word, 0))
                await bus(ctx, wait)
                await _until(ctx, port.rvalid)
                for _ in range(held):
                    await ctx.tick()
                    assert ctx.get(port.rvalid)
                assert (ctx.get(port.rdata), ctx.get(port.rresp)) == (memory[word], OKAY)
                ctx.set(port.rready, 1)
                await ctx.tick()
                ctx.set(port.rready, 0)
                continue
            ctx.set(port.awaddr, 4 * word)
            ctx.set(port.awvalid, 1)
            for _ in range(apart):
                await ctx.tick()
                assert not ctx.get(port.awready), "its data is not there"
            ctx.set(port.wdata, value)
            ctx.set(port.wstrb, 15 if kind == "write" else 3)
            ctx.set(port.wvalid, 1)
            await _until(ctx, port.awready)
            assert ctx.get(port.wready)
            await ctx.tick()
            ctx.set(port.awvalid, 0)
            ctx.set(port.wvalid, 0)
            if kind == "write":
                wanted.append((word, 1))
                await bus(ctx, wait)
                assert memory[word] == value
            await _until(ctx, port.bvalid)
            for _ in range(held):
                await ctx.tick()
                assert ctx.get(port.bvalid)
            assert ctx.get(port.bresp) == (OKAY if kind == "write" else SLVERR)
            ctx.set(port.bready, 1)
            await ctx.tick()
            ctx.set(port.bready, 0)
        assert seen == wanted

    simulate(port, bench)


def test_the_verilog_has_its_pins_and_not_the_bus():
    needs_simulation()
    from switch_nodes.fpga.rtl.parameters import SMALL
    from switch_nodes.fpga.rtl.simulation.building import card_verilog

    text = card_verilog(SMALL, axi=True)
    head = text[text.index("module ina_card(") :].partition(");")[0]
    assert all(name in head for name in axi_pins(AxiLite()))
    assert "bus_strobe" not in head
    assert "bus_strobe" in card_verilog(SMALL)
