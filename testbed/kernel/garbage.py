"""What the garbage collector need not look at."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["seldom", "spared"]

_AT_ONCE = 100_000
"""new objects until the collector looks, in `seldom`"""


@contextmanager
def spared() -> Iterator[None]:
    """What there is now (modules, above all) is no garbage meanwhile: the collector passes it over, also in processes
    that are forked inside. A caller that has frozen something has seen to it."""
    if gc.get_freeze_count():
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def seldom() -> Iterator[None]:
    """The collector looks seldom. What makes many records and few cycles would spend a fifth of its time there."""
    before = gc.get_threshold()
    gc.set_threshold(max(_AT_ONCE, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
