import numpy as np
import pytest

from workloads.config import WorkloadConfig
from workloads.errors import ScenarioError
from workloads.gradients import create_source, digits_elements

ELEMENTS = 200_000


def gradient(seed: int = 3, rank: int = 1, iteration: int = 2, dtype: str = "float32", elements: int = ELEMENTS):
    return create_source(WorkloadConfig("synthetic", seed, elements, 5), rank, 4, dtype).gradient(iteration)


def test_same_seed_rank_and_iteration_give_the_same_bits():
    assert gradient().tobytes() == gradient().tobytes()


@pytest.mark.parametrize("other", [{"seed": 4}, {"rank": 2}, {"iteration": 3}])
def test_each_of_seed_rank_and_iteration_changes_the_values(other):
    same = np.mean(gradient().view(np.uint32) == gradient(**other).view(np.uint32))
    assert same < 0.01


def test_a_prefix_does_not_depend_on_the_length():
    assert gradient(elements=70_001).tobytes() == gradient()[:70_001].tobytes()


@pytest.mark.parametrize("kind", ["synthetic", "extreme", "special"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_any_part_can_be_drawn_by_itself(kind: str, dtype: str):
    source = create_source(WorkloadConfig(kind, 3, 70_001, 5), 1, 4, dtype)
    whole = source.gradient(2).copy()
    for first, count in [(0, 70_001), (0, 0), (70_000, 1), (1, 9), (7, 33_000), (32_767, 2), (32_768, 32_769)]:
        part = np.empty(count, source.dtype)
        source.draw(2, first, part)
        assert part.tobytes() == whole[first : first + count].tobytes()


def test_iterations_can_be_asked_in_any_order():
    source = create_source(WorkloadConfig("synthetic", 1, 1000, 5), 0, 2)
    first = source.gradient(0).copy()
    source.gradient(4)
    assert source.gradient(0).tobytes() == first.tobytes()


def test_floats_are_finite_with_signs_subnormals_and_negative_zeros():
    values = gradient()
    assert values.dtype == np.dtype("<f4")
    assert np.isfinite(values).all()
    tiny = np.finfo(np.float32).tiny
    subnormal = (values != 0) & (np.abs(values) < tiny)
    negative_zero = (values == 0) & np.signbit(values)
    assert 0.004 < subnormal.mean() < 0.012
    assert 0.004 < negative_zero.mean() < 0.012
    assert 0.45 < np.signbit(values).mean() < 0.56


def test_the_order_of_a_float_sum_shows():
    rows = [gradient(rank=rank) for rank in range(3)]
    assert ((rows[0] + rows[1]) + rows[2] != rows[0] + (rows[1] + rows[2])).mean() > 0.05


def test_int32_sums_wrap():
    a, b = (gradient(rank=rank, dtype="int32").astype(np.int64) for rank in range(2))
    assert (np.abs(a + b) > 2**31).mean() > 0.1


def test_unknown_workload_is_named_with_the_known_ones():
    with pytest.raises(ScenarioError) as caught:
        create_source(WorkloadConfig("digit", 1, 1, 1), 0, 2)
    assert str(caught.value) == (
        "scenario: job.workload: unknown workload; found digit; allowed: digits, extreme, special, synthetic"
    )


def test_digits_wants_float32():
    with pytest.raises(ScenarioError, match=r"digits trains in float32; found int32; allowed: float32"):
        create_source(WorkloadConfig("digits", 1, 1, 1), 0, 2, "int32")


def test_the_elements_of_digits():
    assert 20_000 < digits_elements() < 60_000
