"""Floats as integers: the same bits as the definition, whatever the window; errors within the bound; nothing
overflows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from testbed.checkers.reference_quantised import quantised_sum, scaled_sum
from workloads.config import WorkloadConfig
from workloads.datagrams.quantisation import Unquantisable, create_tensor
from workloads.gradients import create_source


def reduce(rows: list[np.ndarray], block: int, window: int, fixed_scale: float | None = None) -> list[np.ndarray]:
    """All workers' tensors through a switch that is a dozen lines of Python integers."""
    results = [np.full_like(row, 99) for row in rows]
    tensors = [
        create_tensor(row, result, block=block, workers=len(rows), window=window, fixed_scale=fixed_scale)
        for row, result in zip(rows, results, strict=True)
    ]
    for packet in range(tensors[0].packets):
        carried = [tensor.payload(packet) for tensor in tensors]
        exponents = tuple(max(pair[half] for pair, _ in carried) for half in (0, 1))
        integers = [np.frombuffer(payload, ">i4").tolist() for _, payload in carried]
        total = [sum(column) for column in zip(*integers, strict=True)]
        assert [len(row) for row in integers] == [tensor.elements_in(packet) for tensor in tensors]
        if rows[0].dtype.kind == "f":
            assert all(-(2**31) <= value < 2**31 for value in total), "a sum of floats left 32 bits"
        wrapped = np.array([(value + 2**31) % 2**32 - 2**31 for value in total], ">i4")
        for tensor in tensors:
            tensor.put(packet, *exponents, wrapped.tobytes(), 0, len(wrapped))
    return results


def gradients(workers: int, elements: int, dtype: str = "float32") -> list[np.ndarray]:
    config = WorkloadConfig("synthetic", 5, elements, 1)
    return [create_source(config, rank, workers, dtype).gradient(0).copy() for rank in range(workers)]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(
    ("workers", "elements", "block", "window"),
    [(1, 64, 8, 2), (3, 1000, 64, 4), (3, 1000, 64, 100), (4, 1023, 256, 1), (32, 33, 16, 3), (2, 1, 4, 2)],
)
def test_every_worker_gets_the_references_bits(dtype, workers, elements, block, window):
    rows = gradients(workers, elements, dtype)
    expected = quantised_sum(rows, block // 2)
    for result in reduce(rows, block, window):
        assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("elements", "block", "window"), [(1000, 64, 4), (33, 16, 3), (1, 4, 2)])
def test_with_one_scale_every_worker_gets_the_references_bits(elements, block, window):
    rows = gradients(3, elements)
    expected = scaled_sum(rows, 1e4)
    for result in reduce(rows, block, window, 1e4):
        assert result.tobytes() == expected.tobytes()
    exact = np.sum([row.astype(np.float64) for row in rows], axis=0)
    assert np.abs(expected - exact).max() <= 3 * 0.5 / 1e4 + np.spacing(np.abs(exact).max().astype(np.float32)) / 2


def test_with_one_scale_nothing_goes_ahead():
    tensor = create_tensor(np.ones(20, "<f4"), np.zeros(20, "<f4"), block=8, workers=2, window=50, fixed_scale=1e6)
    assert (tensor.packets, tensor.ahead, tensor.elements_in(2)) == (3, 0, 4)
    assert tensor.payload(2) == ((0, 0), (1_000_000).to_bytes(4, "big") * 4)


@pytest.mark.parametrize(
    ("value", "fits"), [(2147.483, True), (-2147.483, True), (2147.484, False), (np.inf, False), (np.nan, False)]
)
def test_a_value_that_no_integer_holds_at_that_scale_is_refused(value, fits):
    gradient = np.array([0, value], "<f4")
    if fits:
        create_tensor(gradient, gradient.copy(), block=2, workers=2, window=1, fixed_scale=1e6)
        return
    with pytest.raises(Unquantisable, match=r"element 1 is .*: times 1e\+06 it is no integer of 32 bits"):
        create_tensor(gradient, gradient.copy(), block=2, workers=2, window=1, fixed_scale=1e6)


def test_the_error_is_within_the_bound():
    """|result - exact| <= n * 0.5 / scale + half an ulp of the result; checked with fractions."""
    workers, half = 3, 8
    rows = gradients(workers, 400)
    (result, *_) = reduce(rows, 2 * half, 3)
    for start in range(0, 400, half):
        part = slice(start, start + half)
        largest = max(float(np.abs(row[part]).max()) for row in rows)
        exponent = next(e for e in range(-126, 128) if largest < 2.0**e)
        bound = Fraction(workers, 2) * workers * Fraction(2) ** exponent / (2**31 - 1)
        for index in range(start, min(start + half, 400)):
            exact = sum(Fraction(float(row[index])) for row in rows)
            got = Fraction(float(result[index]))
            assert (
                abs(got - exact)
                <= bound * Fraction(1001, 1000) + Fraction(float(np.spacing(np.abs(result[index])))) / 2
            )


@pytest.mark.parametrize("workers", [1, 2, 7, 32])
def test_the_largest_values_do_not_overflow(workers):
    for value in (np.nextafter(np.float32(2.0**127), np.float32(0)), np.float32(1.9999999), np.float32(-(2.0**126))):
        rows = [np.full(8, value, np.float32) for _ in range(workers)]
        for result in reduce(rows, 4, 2):
            assert result.tobytes() == quantised_sum(rows, 2).tobytes()


def test_zeros_are_exactly_zero_and_subnormals_survive_as_far_as_the_scale_goes():
    rows = [np.array([0.0, -0.0, 0.0, 0.0, 1e-40, 0.0, 0.0, 0.0], np.float32) for _ in range(2)]
    (result, _) = reduce(rows, 4, 1)
    assert result[:4].view(np.uint32).tolist() == [0, 0, 0, 0]
    assert abs(float(result[4]) / 2e-40 - 1) < 1e-2


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 2.0**127])
def test_what_has_no_integers_is_refused(bad):
    row = np.ones(10, np.float32)
    row[7] = bad
    with pytest.raises(Unquantisable, match="element 7 is"):
        create_tensor(row, np.empty_like(row), block=4, workers=2, window=2)
