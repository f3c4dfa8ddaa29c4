"""What the garbage collector need not look at."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["spared"]


@contextmanager
def spared() -> Iterator[None]:
    """What there is now (modules, above all) is no garbage meanwhile: the collector passes it over, also in processes
    that are forked inside. What the caller has frozen stays frozen."""
    thaw = gc.get_freeze_count() == 0
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if thaw:
            gc.unfreeze()
