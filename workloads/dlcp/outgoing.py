"""A vector that leaves for one receiver, packet by packet, each with the class of its elements."""

from __future__ import annotations

from dataclasses import replace

from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.classes import layer_class, small_packets, tos_of
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.flow import SendingFlow
from workloads.dlcp.packets import payload_of
from workloads.gradients import Vector
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, DatagramFlag, encode_datagram

__all__ = ["Outgoing"]


class Outgoing:
    """`values`: shape (elements,); they stay as they are while this is in use. `first`: which element of the gradient
    is the first of them. `header`: of all packets, but for their numbers and sizes. `block`: number of the first packet
    in what is told."""

    def __init__(
        self,
        config: DlcpConfig,
        envelope: Envelope,
        header: AggregationHeader,
        values: Vector,
        timer: BackoffTimer,
        *,
        block: int,
        first: int = 0,
    ) -> None:
        self._envelope, self._header, self._values, self._size = envelope, header, values, config.elements
        self.key = header.tensor, header.slot
        """iteration and step"""
        self.block = block
        small = small_packets(values, config.elements, config.important)
        self.flow = SendingFlow(len(small), config.window, timer)
        self._tos = [
            tos_of(layer_class(first + packet * config.elements, config.workload.elements), small=is_small)
            for packet, is_small in enumerate(small)
        ]

    def encode(self, packet: int, *, again: bool) -> bytes:
        """The frame: the same bytes each time, but that it says whether it left before (`again`)."""
        values = self._values[packet * self._size : (packet + 1) * self._size]
        flags = int(DatagramFlag.RESEND) if again else 0
        header = self._header._replace(sequence=packet + 1, nelem=len(values), flags=flags)
        envelope = replace(self._envelope, tos=self._tos[packet])
        return encode_datagram(envelope, AGGREGATION_PORT, header, payload_of(values))
