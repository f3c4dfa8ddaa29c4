"""The reference against plain Python arithmetic, element by element."""

import math
import struct

import numpy as np
import pytest

from testbed.checkers.folds import fold, pairs_fold, ring_fold
from testbed.checkers.reference import expected_results
from tests.support.judged import FakeSource, good_totals, small_plan
from workloads.config import ArithmeticSpec


def f32(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def bits(array):
    return [int(x) for x in np.asarray(array).view(np.uint32)]


def floats(*values):
    return np.array(values, np.float32)


def test_float_sum_is_a_left_fold_in_order():
    rows = [floats(1e8), floats(1.0), floats(-1e8)]
    assert fold(rows, ArithmeticSpec()) == [0.0]
    assert fold([rows[0], rows[2], rows[1]], ArithmeticSpec()) == [1.0]


def test_float_sum_rounds_at_every_step():
    tiny = 2.0**-24
    assert fold([floats(1.0), floats(tiny), floats(tiny)], ArithmeticSpec()) == [1.0]
    assert fold([floats(tiny), floats(tiny), floats(1.0)], ArithmeticSpec()) == [1.0 + 2**-23]


def test_subnormals_are_kept_and_nan_is_canonical():
    smallest = f32(1)
    assert bits(fold([floats(smallest), floats(smallest)], ArithmeticSpec())) == [2]
    quiet = np.array([0xFFC12345], np.uint32).view(np.float32)
    assert bits(fold([quiet, floats(1.0)], ArithmeticSpec())) == [0x7FC00000]
    assert bits(fold([floats(math.inf), floats(-math.inf)], ArithmeticSpec())) == [0x7FC00000]


def test_integers_wrap_or_saturate_once():
    top, one = np.array([2**31 - 1], np.int32), np.array([1], np.int32)
    minus = np.array([-2], np.int32)
    assert fold([top, one], ArithmeticSpec("sum", "int32")).tolist() == [-(2**31)]
    saturating = ArithmeticSpec("sum", "int32sat")
    assert fold([top, one], saturating).tolist() == [2**31 - 1]
    # clamped once at the end, not at each step: 2^31-1 + 1 - 2 is 2^31-2
    assert fold([top, one, minus], saturating).tolist() == [2**31 - 2]
    low = np.array([-(2**31)], np.int32)
    assert fold([low, minus], saturating).tolist() == [-(2**31)]


def test_max():
    spec = ArithmeticSpec("max", "float32")
    assert fold([floats(1, -3), floats(-2, -1)], spec).tolist() == [1, -1]
    assert bits(fold([floats(math.nan), floats(5)], spec)) == [0x7FC00000]
    assert bits(fold([floats(5), floats(math.nan)], spec)) == [0x7FC00000]
    for rows in ([floats(0.0), floats(-0.0)], [floats(-0.0), floats(0.0)]):
        assert bits(fold(rows, spec)) == [0]
    assert bits(fold([floats(-0.0), floats(-0.0)], spec)) == [0x80000000]
    assert fold([np.array([-5], np.int32), np.array([3], np.int32)], ArithmeticSpec("max", "int32")).tolist() == [3]


def test_xor_is_bitwise_for_every_type():
    one, two = np.array([0x7FC12345, 1], np.uint32), np.array([0x00000001, 3], np.uint32)
    for dtype in (np.float32, np.int32):
        name = "float32" if dtype is np.float32 else "int32"
        total = fold([one.view(dtype), two.view(dtype)], ArithmeticSpec("xor", name))
        assert total.view(np.uint32).tolist() == [0x7FC12344, 2]
        assert total.dtype == dtype


def test_undefined_arithmetic():
    with pytest.raises(ValueError, match="no arithmetic for op 'mean'"):
        fold([floats(1), floats(2)], ArithmeticSpec("mean"))


def test_inputs_are_not_changed():
    rows = [floats(1, 2), floats(3, 4)]
    fold(rows, ArithmeticSpec())
    ring_fold(rows, ArithmeticSpec())
    assert rows[0].tolist() == [1, 2]


@pytest.mark.parametrize("elements", [1, 2, 3, 7, 12])
def test_ring_folds_each_chunk_from_its_own_rank(elements):
    draw = np.random.default_rng(1)
    rows = [
        (draw.standard_normal(elements) * 10.0 ** draw.integers(-4, 5, elements)).astype(np.float32) for _ in range(4)
    ]
    base, extra = divmod(elements, 4)
    expected, at = [], 0
    for chunk in range(4):
        for index in range(at, at + base + (chunk < extra)):
            value = rows[chunk][index]
            for step in range(1, 4):
                value = np.float32(value + rows[(chunk + step) % 4][index])
            expected.append(value)
        at += base + (chunk < extra)
    assert bits(ring_fold(rows, ArithmeticSpec())) == bits(np.array(expected, np.float32))
    if elements == 12:
        assert bits(ring_fold(rows, ArithmeticSpec())) != bits(fold(rows, ArithmeticSpec()))


def test_training_goes_on_from_the_total():
    plan = small_plan()
    results = list(expected_results(plan, FakeSource))
    for totals, good in zip(results, good_totals(plan), strict=True):
        assert len(totals) == 3
        assert all(bits(total) == bits(good) for total in totals)


def test_shift_gives_the_predecessors_gradient():
    plan = small_plan(protocol="shift", program="forward")
    first = next(iter(expected_results(plan, FakeSource)))
    for rank in range(3):
        source = FakeSource(plan.workers[rank].workload, (rank - 1) % 3, 3, "float32")
        assert bits(first[rank]) == bits(source.gradient(0))


def test_a_source_may_reuse_its_buffer():
    class Reusing(FakeSource):
        _shared: dict = {}

        def gradient(self, iteration):
            buffer = self._shared.setdefault("buffer", np.empty(self._config.elements, np.float32))
            buffer[:] = super().gradient(iteration)
            return buffer

    plan = small_plan()
    assert bits(next(iter(expected_results(plan, Reusing)))[0]) == bits(good_totals(plan)[0])


def test_pairs_are_added_near_or_far_partners_first():
    big, small = np.float32(2**24), np.float32(1)
    gradients = [np.array([value], np.float32) for value in (big, small, -big, small)]
    spec = ArithmeticSpec("sum", "float32")
    near, far = (pairs_fold(gradients, spec, far_first=first) for first in (False, True))
    # (2^24 + 1) + (1 - 2^24) loses the first 1; (2^24 - 2^24) + (1 + 1) loses nothing.
    assert (float(near[0]), float(far[0])) == (1.0, 2.0)
    folded_in = [gradients[0], gradients[2], *gradients[1:2], *gradients[3:], *gradients[1:2]]
    assert float(pairs_fold(folded_in, spec, far_first=True)[0]) == 3.0
