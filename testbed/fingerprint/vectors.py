"""Random vectors: those that a model is chosen by, and fresh ones that it must predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from testbed.fingerprint.reducer import Array

__all__ = ["CLASSES", "Limits", "draw_floats", "draw_integers", "layout"]

CLASSES = ("normal", "wide", "subnormal", "cancelling", "ties", "large", "special")
"""standard normal; exponents over the whole range; subnormal and next to it; sums that nearly vanish; sums half-way
between two results; sums at the end of the range; with infinities, NaNs and zeros of both signs"""
_PIECE = 256
"""neighbours of one class: elements may share an exponent"""
_SPECIAL = np.array(
    [0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC54321, 0x7F812345, 0x80000000, 0, 0x7F7FFFFF, 0xFF7FFFFF, 1], np.uint32
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Which values a target takes, as exponents of two."""

    least: int = -126
    """smallest normal number"""
    most: int = 127
    """largest number"""
    precision: int = 24
    takes_special: bool = True
    """infinities and NaNs"""
    takes_large: bool = True
    """sums beyond the largest number"""


def layout(elements: int, limits: Limits, seed: int) -> Array:
    """The class of each element, as an index of CLASSES: pieces in random order, so that each part of a gradient has
    all."""
    allowed = [
        number
        for number, name in enumerate(CLASSES)
        if (name != "special" or limits.takes_special) and (name != "large" or limits.takes_large)
    ]
    pieces = np.resize(np.array(allowed), -(-elements // _PIECE))
    np.random.default_rng([seed, 1]).shuffle(pieces)
    return np.repeat(pieces, _PIECE)[:elements]


def draw_floats(ranks: int, elements: int, limits: Limits, seed: int) -> Array:
    """float32, shape (ranks, elements)."""
    rng, kinds = np.random.default_rng([seed, 2]), layout(elements, limits, seed)
    values = np.empty((ranks, elements), np.float32)
    for number, name in enumerate(CLASSES):
        there = np.flatnonzero(kinds == number)
        if len(there):
            with np.errstate(over="ignore", under="ignore"):
                values[:, there] = _DRAWN[name](rng, (ranks, len(there)), limits)
    return values


def draw_integers(ranks: int, elements: int, seed: int) -> Array:
    """int32: half of them anything, the others small."""
    rng = np.random.default_rng([seed, 3])
    words = rng.integers(-(1 << 31), 1 << 31, (ranks, elements), np.int64).astype(np.int32)
    shift = rng.choice(np.array([0, 0, 1, 2, 20], np.int32), elements)
    found: Array = words >> shift
    return found


def _significands(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    found: Array = rng.choice(np.array([-1.0, 1.0]), shape) * (1 + rng.random(shape))
    return found


def _middle(limits: Limits) -> int:
    return min(0, (limits.least + limits.most) // 2) if limits.most < 4 else 0


def _normal(rng: np.random.Generator, shape: tuple[int, int], limits: Limits) -> Array:
    return rng.standard_normal(shape) * 2.0 ** _middle(limits)


def _wide(rng: np.random.Generator, shape: tuple[int, int], limits: Limits) -> Array:
    """Each vector spans up to 60 powers of two."""
    room = int(np.ceil(np.log2(shape[0])))
    most, least = limits.most - room - 1, limits.least
    base = rng.integers(least, most + 1, shape[1])
    exponents = np.clip(base + rng.integers(-30, 31, shape), least, most)
    found: Array = np.ldexp(_significands(rng, shape), exponents)
    return found


def _subnormal(rng: np.random.Generator, shape: tuple[int, int], limits: Limits) -> Array:
    exponents = rng.integers(limits.least - limits.precision, limits.least + 3, shape)
    found: Array = np.ldexp(_significands(rng, shape), exponents)
    return found


def _cancelling(rng: np.random.Generator, shape: tuple[int, int], limits: Limits) -> Array:
    values: Array = _significands(rng, shape) * 2.0 ** _middle(limits)
    values = np.ldexp(values, rng.integers(0, 4, shape)).astype(np.float32).astype(np.float64)
    last = rng.integers(0, shape[0], shape[1])
    places = np.arange(shape[1])
    values[last, places] = 0
    scale = np.ldexp(1.0, rng.integers(-2 * limits.precision, 0, shape[1]))
    values[last, places] = -values.sum(axis=0) * (1 + rng.choice(np.array([0.0, 1.0, -1.0]), shape[1]) * scale)
    return values


def _ties(rng: np.random.Generator, shape: tuple[int, int], limits: Limits) -> Array:
    """One number that uses the whole precision, and others around half of its last bit."""
    unit = 2.0 ** (_middle(limits) - limits.precision)
    values: Array = unit * rng.integers(-3, 4, shape) * rng.choice(np.array([0.5, 1.0, 1.0 + 2.0**-20]), shape)
    large = np.rint(_significands(rng, (1, shape[1]))[0] / (2 * unit)) * (2 * unit)
    values[rng.integers(0, shape[0], shape[1]), np.arange(shape[1])] = large * 2.0 ** _middle(limits)
    return values


def _large(rng: np.random.Generator, shape: tuple[int, int], limits: Limits) -> Array:
    exponents = rng.integers(limits.most - 3, limits.most + 1, shape)
    found: Array = np.ldexp(np.clip(_significands(rng, shape), -2 + 2.0**-22, 2 - 2.0**-22), exponents)
    return found


def _special(rng: np.random.Generator, shape: tuple[int, int], limits: Limits) -> Array:
    values = rng.standard_normal(shape).astype(np.float32)
    there = rng.random(shape) < 0.4
    values.view(np.uint32)[there] = rng.choice(_SPECIAL, int(there.sum()))
    zeros = rng.random(shape[1]) < 0.25
    signs = rng.choice(np.array([0x80000000, 0x80000000, 0], np.uint32), (shape[0], int(zeros.sum())))
    values.view(np.uint32)[:, zeros] = signs
    return values


_DRAWN = {
    "normal": _normal, "wide": _wide, "subnormal": _subnormal, "cancelling": _cancelling, "ties": _ties,
    "large": _large, "special": _special,
}  # fmt: skip
