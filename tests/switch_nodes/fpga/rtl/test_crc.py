"""The XOR trees of the CRC against zlib and the iCRC of the codec."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("amaranth", reason="needs Amaranth, which ./tb test installs unless TB_NO_RTL is set")
from amaranth.hdl import Module, Signal

from switch_nodes.fpga.rtl.crc import ICRC_START, VALID_RESIDUE, absorbed, advance, retreat, retreated


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_the_register_is_that_of_zlib(first, second):
    register = advance(advance(0xFFFFFFFF, first), second)
    assert register ^ 0xFFFFFFFF == zlib.crc32(first + second)


@given(st.integers(0, 0xFFFFFFFF), st.integers(0, 80))
def test_zeros_can_be_taken_back(register, zeros):
    assert advance(retreat(register, zeros), bytes(zeros)) == register


def test_the_start_is_right_behind_an_ethernet_header_of_zeros():
    assert advance(ICRC_START, bytes(14)) == advance(0xFFFFFFFF, b"\xff" * 8)


@given(st.binary(min_size=1, max_size=60))
def test_a_right_crc_leaves_the_residue_and_its_complement_nothing(data):
    register = advance(0xFFFFFFFF, data)
    crc = (register ^ 0xFFFFFFFF).to_bytes(4, "little")
    assert advance(register, crc) == VALID_RESIDUE
    assert advance(register, bytes(byte ^ 0xFF for byte in crc)) == 0


@pytest.mark.parametrize("size", [8, 64])
def test_the_trees_are_the_register(size):
    m, register, data = Module(), Signal(32), Signal(8 * size)
    after, before = absorbed(m, register, data), retreated(m, register, 5)

    @settings(max_examples=20, deadline=None)
    @given(st.integers(0, 0xFFFFFFFF), st.binary(min_size=size, max_size=size))
    def check(one, beat):
        async def bench(ctx):
            ctx.set(register, one)
            ctx.set(data, int.from_bytes(beat, "little"))
            await ctx.delay(1e-9)
            assert ctx.get(after) == advance(one, beat)
            assert ctx.get(before) == retreat(one, 5)

        from amaranth.sim import Simulator

        simulator = Simulator(m)
        simulator.add_testbench(bench)
        simulator.run()

    check()
