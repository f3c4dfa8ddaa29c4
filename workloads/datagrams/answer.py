"""What acknowledges a packet: its own header, sent back."""

from __future__ import annotations

import cython

from workloads.datagrams.arrival import Arrival
from workloads.wire.aggregation import DatagramKind

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, new_draft, put8, put16, put32
    from workloads.wire.inspected import (
        AT_BITMAP0,
        AT_EXPONENT0,
        AT_FLAGS,
        AT_KIND,
        AT_NELEM,
        AT_OP,
        AT_PAYLOAD,
        AT_VERSION,
        seal,
    )

__all__ = ["acknowledgement_of"]

_ACK = int(DatagramKind.ACK)


def acknowledgement_of(found: Arrival, template: bytes, bitmap: int, flags: int) -> bytes:
    """Without elements, and what says how to add them. `template`: a frame with the addresses; `bitmap`: ranks whose
    packet it was."""
    draft = new_draft(AT_PAYLOAD)
    copy_bytes(draft, 0, template, 0, AT_VERSION)
    copy_bytes(draft, AT_VERSION, found.frame, AT_VERSION, AT_PAYLOAD - AT_VERSION)
    put8(draft, AT_KIND, _ACK)
    put16(draft, AT_FLAGS, flags)
    put32(draft, AT_BITMAP0, bitmap)
    put8(draft, AT_OP, 0)
    put8(draft, AT_EXPONENT0, 0)
    put16(draft, AT_NELEM, 0)
    seal(draft, AT_PAYLOAD)
    return finished(draft)
