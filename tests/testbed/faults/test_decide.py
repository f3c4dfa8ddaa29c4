"""The dice: the reference in Python, its NumPy form and C agree; its bits are spread; thresholds are exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.faults.decide import (
    CHANCE_BITS,
    Purpose,
    absorb,
    absorb_many,
    below,
    burst_is_bad,
    draw,
    draw_many,
    finalise,
    flow_key,
    identity_key,
    packet_word,
    stream_key,
    threshold,
)
from testbed.faults.native import load_filter
from tests.support.native import require_native
from topologies import Direction

U64 = st.integers(0, (1 << 64) - 1)


def test_golden_numbers() -> None:
    """A change of these numbers changes which packets every published seed loses."""
    assert finalise(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF  # first output of SplitMix64 with seed 0
    stream = stream_key(7, "loss-1", "h1-s1", Direction.UP)
    flow = flow_key(bytes((10, 77, 0, 2)), bytes((10, 77, 0, 3)), 0x1234)
    key = identity_key(flow, packet_word(0x07, 0xABCDEF, 0))
    assert (hex(stream), hex(flow), hex(key), hex(draw(stream, key, 1))) == GOLDEN


GOLDEN = ("0x9e9c575ba125311f", "0xac6cb6ba49a76228", "0xf68dcebb59eb0cb8", "0x62a7a154f485340b")


@pytest.mark.parametrize(
    "other",
    [
        stream_key(8, "loss-1", "h1-s1", Direction.UP),
        stream_key(7, "loss-2", "h1-s1", Direction.UP),
        stream_key(7, "loss-1", "h2-s1", Direction.UP),
        stream_key(7, "loss-1", "h1-s1", Direction.DOWN),
    ],
    ids=["seed", "fault", "link", "direction"],
)
def test_streams_differ(other: int) -> None:
    assert other != stream_key(7, "loss-1", "h1-s1", Direction.UP)


def test_a_negative_seed_is_a_seed() -> None:
    assert stream_key(-1, "f", "l", Direction.UP) == stream_key((1 << 64) - 1, "f", "l", Direction.UP)


@given(st.integers(0, 1 << 24), U64, st.integers(1, 9))
def test_every_part_of_an_identity_counts(psn: int, flow: int, occurrence: int) -> None:
    def number(opcode: int = 7, psn: int = psn, syndrome: int = 0, n: int = occurrence, copy: int = 0) -> int:
        return draw(5, identity_key(flow, packet_word(opcode, psn, syndrome)), n, copy)

    asked = {
        number(),
        number(opcode=8),
        number(psn=psn + 1),
        number(syndrome=3),
        number(n=occurrence + 1),
        number(copy=1),
    }
    asked.add(draw(5, identity_key(flow, packet_word(7, psn, 0)), occurrence, 0, Purpose.BIT))
    assert len(asked) == 7


def test_one_bit_of_input_moves_half_of_the_output() -> None:
    """Avalanche: 64 x 64 flip rates over 4000 states; each within 5 sigma of 1/2 (4096 of them, so 6.5 for all)."""
    states = np.random.default_rng(3).integers(0, 1 << 64, 4000, np.uint64)
    base = absorb_many(states, 0)
    for bit in range(64):
        moved = (base ^ absorb_many(states, 1 << bit))[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
        assert np.abs(moved.mean(axis=0) - 0.5).max() < 6.5 * 0.5 / np.sqrt(4000)


@given(U64, U64)
def test_absorb_many_is_absorb(state: int, word: int) -> None:
    assert int(absorb_many(state, word)) == absorb(state, word)


@pytest.mark.parametrize(("rate", "limit"), [(0.0, 0), (1.0, 1 << CHANCE_BITS), (0.5, 1 << 52), (2.0**-53, 1)])
def test_thresholds_are_exact(rate: float, limit: int) -> None:
    assert threshold(rate) == limit


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_outside_of_0_1_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=r"a rate lies in 0\.\.1, not"):
        threshold(rate)


def test_below_at_its_ends() -> None:
    assert not below(0, threshold(0.0))
    assert below((1 << 64) - 1, threshold(1.0))
    assert below((1 << 63) - 1, threshold(0.5))
    assert not below(1 << 63, threshold(0.5))


def identities(count: int, seed: int = 9) -> np.ndarray:
    """Rows of (flow, packet word, occurrence, copy, purpose)."""
    random = np.random.default_rng(seed)
    rows = np.empty((count, 5), np.uint64)
    rows[:, 0] = random.integers(0, 1 << 64, count, np.uint64)
    rows[:, 1] = random.integers(0, 1 << 40, count, np.uint64)
    rows[:, 2] = random.integers(1, 1 << 32, count, np.uint64)
    rows[:, 3] = random.integers(0, 1 << 16, count, np.uint64)
    rows[:, 4] = random.integers(0, 6, count, np.uint64)
    return rows


def expected(stream: int, rows: np.ndarray) -> np.ndarray:
    tail = rows[:, 2] | rows[:, 3] << np.uint64(32) | rows[:, 4] << np.uint64(48)
    return absorb_many(absorb_many(stream, absorb_many(rows[:, 0], rows[:, 1])), tail)


def test_the_vector_form_is_the_reference() -> None:
    rows = identities(20_000)
    ours = [draw(11, identity_key(int(f), int(w)), int(n), int(c), int(p)) for f, w, n, c, p in rows]
    assert expected(11, rows).tolist() == ours
    keys = absorb_many(rows[:, 0], rows[:, 1])
    assert draw_many(11, keys, rows[:, 2], 2, Purpose.BIT).tolist() == [
        draw(11, int(key), int(n), 2, Purpose.BIT) for key, n in zip(keys, rows[:, 2], strict=True)
    ]


def test_c_draws_the_same_for_a_million_identities() -> None:
    require_native("fault_filter")
    lib = load_filter()
    assert lib is not None
    rows = np.ascontiguousarray(identities(1_000_000))
    numbers = np.empty(len(rows), np.uint64)
    lib.ina_draw_many(0x1234567890ABCDEF, rows.ctypes.data, len(rows), numbers.ctypes.data)
    assert np.array_equal(numbers, expected(0x1234567890ABCDEF, rows))


CHAINS = [(0.002, 0.2), (0.3, 0.9), (0.0001, 0.003), (1.0, 1.0), (0.0, 0.25), (0.05, 0.0), (0.5, 0.5)]


@pytest.mark.parametrize(("enter", "recover"), CHAINS)
def test_c_walks_bursts_as_python_does(enter: float, recover: float) -> None:
    require_native("fault_filter")
    lib = load_filter()
    assert lib is not None
    p, r = threshold(enter), threshold(recover)
    for psn in range(0xFFFF00, 0xFFFF00 + 600):
        ours = burst_is_bad(3, 4, psn & 0xFFFFFF, 2, 1, p, r)
        assert bool(lib.ina_burst_state(3, 4, psn & 0xFFFFFF, 2, 1, p, r)) == ours


def test_burst_state_follows_the_chain_forwards() -> None:
    """Walking back from any PSN gives what walking forward from a decided state gives: no seam anywhere."""
    stream, flow, p, r = 77, 88, threshold(0.02), threshold(0.1)
    chain = absorb(absorb(stream, flow), 1 | Purpose.BURST_STEP << 48)
    state = burst_is_bad(stream, flow, 0xFFFFF0, 1, 0, p, r)
    for n in range(0xFFFFF1, 0xFFFFF0 + 5000):
        psn = n & 0xFFFFFF
        step = absorb(chain, psn) >> 11
        state = step < (1 << 53) - r if state else step < p
        assert burst_is_bad(stream, flow, psn, 1, 0, p, r) == state
