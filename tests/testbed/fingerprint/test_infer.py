"""Planted reducers: each is named, none wrongly, and 100,000 fresh vectors are as predicted."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.fingerprint.infer import fingerprint
from tests.support import reducers as planted
from tests.support.reducers import Array, Planted

VECTORS, FEW = 100_000, 20_000
RANK_ORDER = "rank order: 0, 1, 2, ..."
PAIRS = "pairs of neighbours, then pairs of these, as in recursive doubling"
NEAREST = "to nearest, ties to even"
PLAIN = {"order": RANK_ORDER, "accumulator": "float32", "rounding": NEAREST, "subnormals": "kept"}
INTEGERS = "integers (fixed point)"
ONCE = "sums saturate at 32 bits, once at the end"
CLAMPED = "single values beyond become the largest of their sign"

TWENTY = {
    "rank order": (Planted(planted.in_order([0, 1, 2, 3])), PLAIN),
    "reverse": (Planted(planted.in_order([3, 2, 1, 0])), PLAIN | {"order": "reverse rank order"}),
    "permutation": (Planted(planted.in_order([2, 0, 3, 1])), PLAIN | {"order": "one after the other: 0, 2, 3, 1"}),
    "pairwise": (Planted(planted.pairwise), PLAIN | {"order": PAIRS}),
    "far pairs": (Planted(planted.far_pairs), PLAIN | {"order": "pairs far apart first, as in recursive halving"}),
    "ring": (
        Planted(planted.ring),
        PLAIN | {"order": "a ring: each of 4 chunks from a rank of its own, upwards round the ring"},
    ),
    "by arrival": (
        Planted(planted.by_arrival()),
        {
            "order": "by arrival: the same inputs gave different sums; each is that of one rank after the other",
            "accumulator": "float32",
            "rounding": NEAREST,
        },
    ),
    "float64": (Planted(planted.in_float64), PLAIN | {"accumulator": "float64"}),
    "bfloat16": (Planted(planted.in_bf16), PLAIN | {"accumulator": "bfloat16"}),
    "float16": (Planted(planted.in_fp16), PLAIN | {"accumulator": "float16"}),
    "fixed": (
        Planted(planted.fixed(1e6)),
        {
            "accumulator": INTEGERS,
            "scale": "1000000",
            "overflow": f"{ONCE}; {CLAMPED}",
            "rounding": f"of each input {NEAREST}",
        },
    ),
    "block exponents": (
        Planted(planted.block_exponents(128)),
        {
            "accumulator": "integers with block exponents (fixed point)",
            "scale": "(2^31 - 1) / 4 x 2^-E; E is the least exponent with |x| < 2^E for 128 elements of all ranks",
        },
    ),
    "Kahan": (
        Planted(planted.kahan),
        {
            "order": RANK_ORDER,
            "accumulator": "float32, compensated (Kahan): a second float32 keeps the error of each addition",
        },
    ),
    "Neumaier": (
        Planted(planted.neumaier),
        {
            "order": RANK_ORDER,
            "accumulator": "float32, compensated (Neumaier): a second float32 keeps the error of each addition",
        },
    ),
    "truncation": (Planted(planted.truncating), PLAIN | {"rounding": "towards zero (truncation)"}),
    "inputs flushed": (Planted(planted.flushes_inputs), PLAIN | {"subnormals": "flushed to zero: those of inputs"}),
    "results flushed": (Planted(planted.flushes_results), PLAIN | {"subnormals": "flushed to zero: those of results"}),
    "exact": (
        Planted(planted.exact),
        {"accumulator": "wide enough for the exact sum", "rounding": f"once, {NEAREST}", "subnormals": "kept"},
    ),
    "NaN made canonical": (Planted(planted.canonical_nans), PLAIN | {"NaN": "every NaN becomes 0x7fc00000"}),
    "int32 wraps": (
        Planted(planted.wrapping, dtype="int32"),
        {"accumulator": "int32", "overflow": "sums wrap at 32 bits"},
    ),
    "int32 saturates once": (Planted(planted.clamped_once, dtype="int32"), {"accumulator": "int32", "overflow": ONCE}),
    "int32 saturates": (
        Planted(planted.clamped_each, dtype="int32"),
        {"order": RANK_ORDER, "overflow": "sums saturate at 32 bits after each addition"},
    ),
}


@pytest.mark.parametrize("name", TWENTY)
def test_a_planted_reducer_is_named(name: str) -> None:
    reducer, traits = TWENTY[name]
    reducer.elements = VECTORS
    finding = fingerprint(reducer, name)
    assert {subject: finding.traits.get(subject) for subject in traits} == traits
    assert (finding.is_known, finding.predicted, finding.vectors) == (True, VECTORS, VECTORS)


def chain(add: object, convert: object = None, out: object = None) -> object:
    def total(rows: Array) -> Array:
        made = [convert(row) if convert else row for row in rows]  # type: ignore[operator]
        found = made[0]
        for row in made[1:]:
            found = add(found, row)  # type: ignore[operator]
        return (out(found) if out else found).astype(np.float32)  # type: ignore[operator]

    return total


def cut_to_bf16(values: Array) -> Array:
    return (values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def fused(rows: Array) -> Array:
    largest = np.abs(np.where(np.isfinite(rows), rows, 0)).max(axis=0).astype(float)
    quantum = np.frexp(largest)[1] - 26
    whole = np.ldexp(rows.astype(float), -quantum)
    return np.ldexp(np.where(np.isfinite(whole), np.trunc(whole), whole).sum(axis=0), quantum).astype(np.float32)


def absmax(rows: Array) -> Array:
    parts = []
    for start in range(0, rows.shape[1], 64):
        part = rows[:, start : start + 64].astype(float)
        scale = 127 / (np.abs(part).max() or 1)
        parts.append(np.rint(part * scale).sum(axis=0) / scale)
    return np.concatenate(parts).astype(np.float32)


def cast_integers(rows: Array) -> Array:
    return (np.rint(rows.astype(float) * 1e5).astype(np.int32).sum(axis=0, dtype=np.int32) / 1e5).astype(np.float32)


def plus(a: Array, b: Array) -> Array:
    return a + b


NEIGHBOURS = {
    "8 ranks in a ring": (
        Planted(planted.ring, 8),
        {"order": "a ring: each of 8 chunks from a rank of its own, upwards round the ring"},
    ),
    "5 ranks in pairs": (Planted(planted.pairwise, 5), {"order": PAIRS}),
    "6 ranks by arrival": (Planted(planted.by_arrival(), 6), {"accumulator": "float32"}),
    "2 ranks": (Planted(planted.in_float64, 2), {"accumulator": "float32, or wider: two ranks do not show it"}),
    "bfloat16 in and out": (
        Planted(chain(plus, planted.to_bf16, planted.to_bf16)),
        {
            "accumulator": "float32",
            "inputs": f"rounded to bfloat16, {NEAREST}",
            "result": f"rounded to bfloat16, {NEAREST}",
        },
    ),
    "bfloat16 cut": (
        Planted(chain(lambda a, b: cut_to_bf16(a + b), cut_to_bf16)),
        {"rounding": "towards zero (truncation), of sums that were rounded to float32", "accumulator": "bfloat16"},
    ),
    "saturating": (
        Planted(chain(lambda a, b: np.clip(a + b, -np.finfo(np.float32).max, np.finfo(np.float32).max))),
        {"overflow": "saturates at the largest finite value"},
    ),
    "begins at zero": (
        Planted(lambda rows: planted.in_order(range(5))(np.concatenate([np.zeros_like(rows[:1]), rows]))),
        {"zeros": "-0 and -0 make +0: the sum begins at +0"},
    ),
    "x87": (Planted(chain(plus, lambda row: row.astype(np.longdouble))), {"accumulator": "x87 extended (64 bits)"}),
    "all at once": (Planted(fused), {"order": "all ranks at once"}),
    "absolute maximum": (Planted(absmax), {"scale": "127 / the largest |x| of 64 elements of all ranks"}),
    "converted as x86": (
        Planted(cast_integers),
        {"overflow": "sums wrap at 32 bits; single values beyond become -2^31, as in a conversion of x86"},
    ),
    "odd scale": (Planted(planted.fixed(12345.678)), {"scale": "12345.678"}),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_neighbour_is_named(name: str) -> None:
    reducer, traits = NEIGHBOURS[name]
    reducer.elements = FEW
    finding = fingerprint(reducer, name)
    assert {subject: finding.traits.get(subject) for subject in traits} == traits
    assert (finding.is_known, finding.predicted) == (True, FEW)


def wrong_now_and_then(rows: Array) -> Array:
    total = planted.in_order(range(4))(rows)
    total[(rows[0].view(np.uint32) & 0xFFF) == 0x123] += 1
    return total


def test_an_unknown_reducer_shows_the_first_vector() -> None:
    reducer = Planted(wrong_now_and_then, elements=FEW)
    finding = fingerprint(reducer, "wrong")
    assert finding.exit_code == 2
    assert not finding.traits
    assert "no known arithmetic explains all sums" in finding.reason
    difference = finding.difference
    assert difference is not None
    column = np.array([int(word, 16) for word in difference.inputs], np.uint32).view(np.float32)
    assert int(difference.inputs[0], 16) & 0xFFF == 0x123
    right = planted.in_order(range(4))(column[:, np.newaxis])[0]
    assert int(difference.expected, 16) == int(right.view(np.uint32))
    assert int(difference.got, 16) == int(np.float32(right + 1).view(np.uint32))


def stochastic(rows: Array) -> Array:
    rng, total = np.random.default_rng(), rows[0]
    for row in rows[1:]:
        near = total + row
        total = np.where(rng.random(len(near)) < 0.5, np.nextafter(near, np.float32(np.inf)), near)
    return total


@pytest.mark.parametrize(
    ("reducer", "reason"),
    [
        (Planted(stochastic), "the same inputs gave different sums, even with zeros at all ranks but one"),
        (Planted(planted.by_arrival(), 8), "orders of more than 7 ranks are not tried"),
        (Planted(lambda rows: rows.mean(axis=0)), "at one rank and 0 at the others gave"),
        (Planted(lambda rows: rows.max(axis=0)), "at one rank and 0 at the others gave"),
        (Planted(lambda rows: np.cumsum(rows.sum(axis=0))), "elements of a gradient depend on each other"),
        (Planted(lambda rows: rows.sum(axis=0)[:9]), "sums of shape"),
    ],
)  # fmt: skip
def test_what_is_no_sum(reducer: Planted, reason: str) -> None:
    finding = fingerprint(reducer, "none")
    assert finding.exit_code == 2
    assert reason in finding.reason


def test_nans_without_a_rule_are_left_out_and_noted() -> None:
    finding = fingerprint(Planted(lambda rows: np.nansum(rows, axis=0).astype(np.float32)), "drops NaNs")
    assert finding.is_known
    assert finding.notes == ("no rule was found for sums of infinities and NaNs: no vector has them",)
    assert finding.traits["NaN"] == "some NaNs get lost in sums"
