"""Shapes of links for drawn schedules."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from topologies import LinkShape

__all__ = ["other_shape"]


def other_shape(draw: Random, shape: LinkShape) -> LinkShape:
    """A link that differs: a slow host, a far one."""
    if draw.random() < 0.5:
        return replace(shape, rate_bps=max(10_000_000, shape.rate_bps // draw.choice((2, 4, 10))))
    return replace(shape, delay_ns=shape.delay_ns + draw.choice((1_000, 20_000, 200_000)))
