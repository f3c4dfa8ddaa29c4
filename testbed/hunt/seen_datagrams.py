"""Datagrams as watches read them. Several watches read the same frame: where it leaves one node, and where it comes to
the next."""

from __future__ import annotations

from functools import lru_cache

from workloads.wire.aggregation import Datagram, DatagramError, decode_datagram

__all__ = ["seen_datagram"]

_KEPT = 256
"""frames"""


@lru_cache(maxsize=_KEPT)
def seen_datagram(frame: bytes) -> Datagram | None:
    """None for what is no sound datagram of an aggregation protocol."""
    try:
        return decode_datagram(frame)
    except DatagramError:
        return None
