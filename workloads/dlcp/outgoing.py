"""A vector that leaves for one receiver, packet by packet, each with the class of its elements."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.flow import SendingFlow
from workloads.gradients import Vector
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, DatagramFlag, encode_datagram
from workloads.wire.places import TOS_AT

if not cython.compiled:
    from workloads.kernels import copy_bytes, finished, new_draft, put8, put16, put32, write_words
    from workloads.wire.inspected import AT_FLAGS, AT_NELEM, AT_PAYLOAD, AT_SEQUENCE, seal

__all__ = ["Outgoing"]

_TOS, _RESEND = TOS_AT, int(DatagramFlag.RESEND)


class Outgoing:
    """`values`: shape (elements,); they stay as they are while this is in use. `classes`: a traffic class for each
    packet (`workloads.dlcp.classes`). `header`: of all packets, except their numbers and sizes. `block`: number of the
    first packet, for the events."""

    def __init__(
        self,
        config: DlcpConfig,
        envelope: Envelope,
        header: AggregationHeader,
        values: Vector,
        classes: bytes,
        timer: BackoffTimer,
        block: int,
    ) -> None:
        self._template = encode_datagram(envelope, AGGREGATION_PORT, header, b"")
        self._values: Any = values.view(np.int32)
        self._size, self._total, self._classes = config.elements, len(values), classes
        self.key = header.tensor, header.slot
        """iteration and step"""
        self.block = block
        self.flow = SendingFlow(len(classes), config.window, timer)

    def encode(self, packet: int, again: bool) -> bytes:
        """The frame: the same bytes each time, except the mark of a repetition (`again`)."""
        first = packet * self._size
        count = self._total - first if self._total - first < self._size else self._size
        draft = new_draft(AT_PAYLOAD + 4 * count)
        copy_bytes(draft, 0, self._template, 0, AT_PAYLOAD)
        put8(draft, _TOS, self._classes[packet])
        put16(draft, AT_FLAGS, _RESEND if again else 0)
        put32(draft, AT_SEQUENCE, packet + 1)
        put16(draft, AT_NELEM, count)
        write_words(draft, AT_PAYLOAD, self._values, first, count)
        seal(draft, AT_PAYLOAD + 4 * count)
        return finished(draft)
