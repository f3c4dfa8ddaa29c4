"""Random words, and float32 values made of them, on the compiled path."""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from workloads.kernels import draw_words, shape_floats

__all__ = ["draw_floats", "draw_integers"]


def draw_integers(words: Any, first: int, key0: int, key1: int) -> None:
    """Fill an array of uint32, as `draw_words` of `workloads.kernels`."""
    draw_words(words, first, key0, key1)


def draw_floats(words: Any, first: int, key0: int, key1: int) -> None:
    """The same, with the bits of float32 values."""
    draw_words(words, first, key0, key1)
    shape_floats(words)
