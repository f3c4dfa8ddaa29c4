"""Shapes of links for drawn schedules."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from topologies import LinkShape

__all__ = ["draw_shape", "other_shape"]


def draw_shape(draw: Random, need: int, queues: dict[int, int]) -> LinkShape:
    """For IP packets of `need` bytes. `queues`: lengths with weights."""
    delay = draw.choice((0, 0, 500, 5_000, 50_000))
    return LinkShape(
        rate_bps=draw.choice((40_000_000, 100_000_000, 1_000_000_000, 10_000_000_000)),
        delay_ns=delay,
        jitter_ns=draw.randint(0, delay) if draw.random() < 0.4 else 0,
        mtu=max(1500, need),
        queue_packets=draw.choices(list(queues), list(queues.values()))[0],
    )


def other_shape(draw: Random, shape: LinkShape) -> LinkShape:
    """A link that differs: a slow host, a far one."""
    if draw.random() < 0.5:
        return replace(shape, rate_bps=max(10_000_000, shape.rate_bps // draw.choice((2, 4, 10))))
    return replace(shape, delay_ns=shape.delay_ns + draw.choice((1_000, 20_000, 200_000)))
