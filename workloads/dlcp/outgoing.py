"""A vector that leaves for one receiver, packet by packet, each with the class of its elements."""

from __future__ import annotations

from dataclasses import replace

from workloads.datagrams.retransmission import BackoffTimer
from workloads.dlcp.classes import layer_class, small_packets, tos_of
from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.flow import SendingFlow
from workloads.dlcp.packets import full_header, payload_of
from workloads.gradients import Vector
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, DatagramFlag, DatagramKind, encode_datagram

__all__ = ["Outgoing"]


class Outgoing:
    """`values`: shape (elements,); they stay as they are while this is in use. `rank`: of the worker, whichever way it
    goes."""

    def __init__(
        self, config: DlcpConfig, kind: DatagramKind, rank: int, iteration: int, values: Vector, timer: BackoffTimer
    ) -> None:
        self._config, self._kind, self._rank, self._values = config, kind, rank, values
        self.iteration = iteration
        self.flow = SendingFlow(config.packets, config.window, timer)
        small = small_packets(values, config.elements, config.important)
        self._tos = [
            tos_of(layer_class(packet, config.packets), small=is_small) for packet, is_small in enumerate(small)
        ]

    def encode(self, packet: int, *, again: bool) -> bytes:
        """The frame: the same bytes each time, but that it says whether it left before (`again`)."""
        config = self._config
        first, end = config.span(packet)
        header = full_header(config, self._kind, self._rank, packet, self.iteration)
        if again:
            header = header._replace(flags=int(DatagramFlag.RESEND))
        return encode_datagram(
            replace(self._envelope, tos=self._tos[packet]), AGGREGATION_PORT, header,
            payload_of(self._values[first:end]),
        )  # fmt: skip

    @property
    def _envelope(self) -> Envelope:
        config = self._config
        return config.peers[self._rank if config.is_server else 0]
