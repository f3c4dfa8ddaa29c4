"""AETH syndromes (kernel rxe_hdr.h) and RNR timer codes (kernel rxe_comp.c; code 25 as in the IBTA table)."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ACK_UNLIMITED", "RNR_TIMER_NS", "Nak", "is_ack", "is_nak", "is_rnr", "rnr_syndrome", "rnr_timer_ns"]

ACK_UNLIMITED = 0x1F
"""ACK with the credit count "not used"."""


class Nak(IntEnum):
    """The whole syndrome byte."""

    PSN_SEQUENCE = 0x60
    INVALID_REQUEST = 0x61
    REMOTE_ACCESS = 0x62
    REMOTE_OPERATIONAL = 0x63
    INVALID_RD_REQUEST = 0x64
    TRIMMED = 0x65
    """syndrome of an answer of IRN alone, a value that is reserved otherwise: the packet came without its payload"""


RNR_TIMER_NS: tuple[int, ...] = tuple(
    round(ms * 1_000_000)
    for ms in (
        655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92,
        2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
    )
)  # fmt: skip


def is_ack(syndrome: int) -> bool:
    return syndrome >> 5 == 0b000


def is_rnr(syndrome: int) -> bool:
    return syndrome >> 5 == 0b001


def is_nak(syndrome: int) -> bool:
    return syndrome >> 5 == 0b011


def rnr_syndrome(timer_code: int) -> int:
    """RNR NAK syndrome that asks for `RNR_TIMER_NS[timer_code]`."""
    return 0b001 << 5 | (timer_code & 0x1F)


def rnr_timer_ns(syndrome: int) -> int:
    """How long an RNR NAK asks the requester to wait."""
    return RNR_TIMER_NS[syndrome & 0x1F]
