"""What the garbage collector need not look at."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["spared"]


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
