"""Packet sequence numbers for those who plan connections, and the waits that a peer may ask for."""

from __future__ import annotations

from collections.abc import Callable

from workloads.wire.psn import PSN_MASK, PSN_MODULUS
from workloads.wire.syndrome import RNR_TIMER_NS

__all__ = ["LAST_PSN", "MOST_APART", "any_psn", "offset_of", "psn_of", "rnr_wait_ns"]

LAST_PSN = PSN_MASK
MOST_APART = PSN_MODULUS // 4
"""most packets that may be under way: old and new ones must stay apart"""


def any_psn(randrange: Callable[[int], int]) -> int:
    """`randrange`: a whole number from 0, below what it is given."""
    return randrange(PSN_MODULUS)


def psn_of(number: int) -> int:
    """Of a number that counts on beyond the last PSN, or back from 0."""
    return number % PSN_MODULUS


def offset_of(psn: int, first_psn: int) -> int:
    """How many packets behind the first one of its connection."""
    return (psn - first_psn) & PSN_MASK


def rnr_wait_ns(code: int) -> int:
    """That an RNR NAK with this timer code asks for (IBTA 9.7.5.2.8)."""
    return RNR_TIMER_NS[code]
