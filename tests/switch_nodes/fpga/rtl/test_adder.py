"""One adder lane against the arithmetic of the hosts, over values where formats differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.rtl import simulate
from workloads.collectives.arithmetic import fold
from workloads.collectives.ina_header import DTYPE_CODES, OP_CODES
from workloads.config import ArithmeticSpec

pytest.importorskip("amaranth", reason="needs Amaranth, which ./tb test installs unless TB_NO_RTL is set")
from switch_nodes.fpga.rtl.adder import LATENCY, AdderLane

_SPECIAL = (
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x807FFFFF, 0x3F800000, 0xBF800000,
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7FA00000, 0x33800000, 0x33800001,
    0x4B800000, 0x4B800001, 0x7FFFFFFF, 0xFFFFFFFF,
)  # fmt: skip
_NEAR = st.builds(
    lambda exponent, fraction, sign: sign << 31 | exponent << 23 | fraction,
    st.integers(100, 130), st.sampled_from([0, 1, 2, 3, 0x7FFFFF, 0x7FFFFE, 0x400000, 0x400001]), st.integers(0, 1),
)  # fmt: skip
_VALUES = st.one_of(st.sampled_from(_SPECIAL), st.integers(0, 0xFFFFFFFF), _NEAR)


def _by_hardware(columns: list[list[int]], op: str, dtype: str) -> list[int]:
    """The fold of each list of values."""
    lane, found = AdderLane(floats=True), []

    async def bench(ctx):
        ctx.set(lane.op, OP_CODES[op])
        ctx.set(lane.dtype, DTYPE_CODES[dtype])
        for values in columns:
            for place, value in enumerate(values):
                ctx.set(lane.first, place == 0)
                ctx.set(lane.final, place == len(values) - 1)
                ctx.set(lane.element, value)
                await ctx.tick().repeat(LATENCY)
                ctx.set(lane.value, ctx.get(lane.result))
            found.append(ctx.get(lane.result) & 0xFFFFFFFF)

    simulate(lane, bench)
    return found


def _by_hosts(columns: list[list[int]], op: str, dtype: str) -> list[int]:
    return [
        int.from_bytes(
            fold(np.array([[value] for value in values], "<u4").view(np.uint8), ArithmeticSpec(op, dtype)).tobytes(),
            "little",
        )
        for values in columns
    ]


@pytest.mark.parametrize("dtype", list(DTYPE_CODES))
@pytest.mark.parametrize("op", list(OP_CODES))
def test_a_lane_folds_as_hosts_do(op, dtype):
    @settings(max_examples=12, deadline=None)
    @given(st.lists(st.lists(_VALUES, min_size=2, max_size=5), min_size=20, max_size=40))
    def check(columns):
        assert _by_hardware(columns, op, dtype) == _by_hosts(columns, op, dtype)

    check()


def test_every_pair_of_special_floats():
    pairs = [[a, b] for a in _SPECIAL for b in _SPECIAL]
    assert _by_hardware(pairs, "sum", "float32") == _by_hosts(pairs, "sum", "float32")
    assert _by_hardware(pairs, "max", "float32") == _by_hosts(pairs, "max", "float32")


def test_int32_that_saturates_is_exact_until_the_end():
    values = [[0x7FFFFFFF] * 40 + [0xFFFFFFFF] * 20 + [0x80000001] * 39]
    assert _by_hardware(values, "sum", "int32sat") == [0x7FFFFFFF - 20]
