import numpy as np
import pytest

from workloads.config import WorkloadConfig
from workloads.gradients import create_source
from workloads.quantisation import create_tensor

ELEMENTS = 20_000
TINY = np.finfo(np.float32).tiny


def gradient(kind: str = "extreme", seed: int = 0, rank: int = 1, iteration: int = 0, dtype: str = "float32"):
    return create_source(WorkloadConfig(kind, seed, ELEMENTS, 3), rank, 4, dtype).gradient(iteration).copy()


def test_same_seed_rank_and_iteration_give_the_same_bits_and_others_do_not():
    for kind in ("extreme", "special"):
        assert gradient(kind).tobytes() == gradient(kind).tobytes()
        for other in ({"seed": 4}, {"rank": 2}, {"iteration": 1}):
            assert gradient(kind).tobytes() != gradient(kind, **other).tobytes()


@pytest.mark.parametrize(("seed", "share"), [(0, 4), (1, 16), (2, 64), (3, 256)])
def test_integers_are_small_but_for_some_at_the_ends_in_the_same_places(seed: int, share: int):
    rows = [gradient(seed=seed, rank=rank, dtype="int32").astype(np.int64) for rank in range(3)]
    large = [np.abs(row) > 1 << 20 for row in rows]
    assert 0.5 / share < large[0].mean() < 1.0 / share, "of the ends, 0 and -1 are small"
    assert {1 << 31, (1 << 31) - 1} <= set(np.abs(rows[0]).tolist())
    together = (large[0] & large[1]).sum() / large[0].sum()
    assert together > 0.6, "ends meet"
    first = np.abs(rows[0] + rows[1]) > 1 << 31
    assert (first & (np.abs(sum(rows)) < 1 << 31)).any(), "what left int32 comes back"


def test_extreme_floats_travel_as_integers():
    for seed in range(4):
        values = gradient(seed=seed)
        assert np.isfinite(values).all()
        assert ((values != 0) & (np.abs(values) < TINY)).any()
        assert ((values == 0) & np.signbit(values)).any()
        assert np.abs(values).max() > 1e38
        create_tensor(values, np.empty_like(values), block=64, workers=2, window=4)


def test_special_floats_have_infinities_and_nans_of_every_kind():
    bits = gradient("special").view(np.uint32)
    assert {0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF} <= set(bits.tolist())
    assert np.array_equal(gradient("special", dtype="int32"), gradient(dtype="int32"))
