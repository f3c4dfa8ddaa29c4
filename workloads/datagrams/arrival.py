"""An aggregation datagram that came, as Machines on the compiled path look at it: its fields, and where its elements
are."""

from __future__ import annotations

import cython

from workloads.wire.aggregation import AggregationHeader, DatagramFlag

if not cython.compiled:
    from workloads.kernels import get8, get16, get32
    from workloads.wire.inspected import (
        AT_BITMAP0,
        AT_BITMAP1,
        AT_EXPONENT0,
        AT_EXPONENT1,
        AT_FAN_IN0,
        AT_FAN_IN1,
        AT_FLAGS,
        AT_JOB,
        AT_KIND,
        AT_NELEM,
        AT_NEW_SLOT,
        AT_NODE,
        AT_OP,
        AT_PAYLOAD,
        AT_PRIORITY,
        AT_SEQUENCE,
        AT_SLOT,
        AT_TENSOR,
        AT_VERSION,
        address_of,
        as_signed,
    )

__all__ = ["Arrival"]

_TOS, _CE, _ECN = 15, 3, int(DatagramFlag.ECN)


class Arrival:
    """A packet that came, in whatever frames. One object serves all packets of a Machine, one after the other."""

    def __init__(self) -> None:
        self.frame = b""
        """what has its `count` elements from `at` on, int32 in network byte order"""
        self.at = 0
        self.source = self.policy = self.kind = self.job = self.sequence = self.slot = self.flags = 0
        """source: IPv4 address; the others as the packet says, as those below"""
        self.bitmap = self.fan_in = self.op = self.count = self.exponent0 = self.exponent1 = 0
        """bitmap: `bitmap0`; in larger jobs the set of workers that is meant (`workloads.datagrams.worker_sets`)"""
        self.tensor = self.new_slot = self.bitmap1 = self.fan_in1 = self.priority = self.node = 0
        self.destination = 0
        """IPv4 address"""
        self.congested = False
        """whether it has CE, or the ECN flag"""

    def read(self, frame: bytes) -> None:
        """Read a sound datagram."""
        self.source, self.policy = address_of(frame, False), get8(frame, AT_VERSION) & 15
        self.kind, self.job, self.sequence = get8(frame, AT_KIND), get16(frame, AT_JOB), get32(frame, AT_SEQUENCE)
        self.slot, self.flags, self.count = get16(frame, AT_SLOT), get16(frame, AT_FLAGS), get16(frame, AT_NELEM)
        self.bitmap, self.fan_in, self.op = get32(frame, AT_BITMAP0), get8(frame, AT_FAN_IN0), get8(frame, AT_OP)
        self.exponent0 = as_signed(get8(frame, AT_EXPONENT0))
        self.exponent1 = as_signed(get8(frame, AT_EXPONENT1))
        self.tensor, self.new_slot, self.node = (
            get32(frame, AT_TENSOR),
            get16(frame, AT_NEW_SLOT),
            get16(frame, AT_NODE),
        )
        self.bitmap1, self.fan_in1 = get32(frame, AT_BITMAP1), get8(frame, AT_FAN_IN1)
        self.priority, self.destination = get8(frame, AT_PRIORITY), address_of(frame, True)
        self.congested = get8(frame, _TOS) & _CE == _CE or self.flags & _ECN != 0
        self.frame, self.at = frame, AT_PAYLOAD

    def know(self, source: bytes, header: AggregationHeader, payload: bytes) -> None:
        """Set the fields that another framing than UDP gives."""
        h = header
        self.source, self.policy, self.kind, self.job = int.from_bytes(source, "big"), h.policy, h.kind, h.job
        self.sequence, self.slot, self.flags, self.count = h.sequence, h.slot, h.flags, h.nelem
        self.bitmap, self.fan_in, self.op = h.bitmap0, h.fan_in0, h.op
        self.exponent0, self.exponent1, self.frame, self.at = h.exponent0, h.exponent1, payload, 0
