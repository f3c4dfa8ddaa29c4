"""How SwitchML's packets stand on the wire, at a worker's end: what the worker itself does not know.

Both framings speak of a packet by the fields of `AggregationHeader`. Over UDP they are the header's bytes
(`workloads.wire.aggregation`), over UC they are spread over BTH, RETH and immediate (`workloads.switchml.uc_mapping`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from workloads.machine import Buffer
from workloads.switchml.config import SwitchMlConfig
from workloads.switchml.uc_mapping import from_write, key_version, to_write
from workloads.uc import UcEndpoint, UcError
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramError,
    DatagramFlag,
    DatagramKind,
    Policy,
    decode_datagram,
    encode_datagram,
)

__all__ = ["Arrival", "HostFraming", "create_framing"]


class Arrival(NamedTuple):
    """A packet that came, in whatever frames."""

    src_ip: bytes
    header: AggregationHeader
    payload: Buffer
    """`nelem` elements, int32 in network byte order; copy what is kept"""


class HostFraming(Protocol):
    def receive(self, frame: Buffer) -> Arrival | None:
        """None: not for us, or more frames belong to it. Raises DatagramError for what is for us and cannot be used."""
        ...

    def frames(self, header: AggregationHeader, payload: bytes) -> Sequence[bytes]:
        """What carries a packet to the switch, to be sent in this order."""
        ...


def create_framing(config: SwitchMlConfig) -> HostFraming:
    return _UdpFraming(config.envelope) if config.uc is None else _UcFraming(config)


class _UdpFraming:
    """One datagram; the same packet has the same bytes each time."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope

    def receive(self, frame: Buffer) -> Arrival | None:
        found = decode_datagram(frame)
        if found is None or found.dst_ip != self._envelope.src_ip:
            return None
        return Arrival(found.src_ip, found.header, found.payload)

    def frames(self, header: AggregationHeader, payload: bytes) -> Sequence[bytes]:
        return (encode_datagram(self._envelope, AGGREGATION_PORT, header, payload),)


class _UcFraming:
    """A message on the queue pair of its index; the same packet has new PSNs each time."""

    def __init__(self, config: SwitchMlConfig) -> None:
        assert config.uc is not None, "a worker over UC"
        self._config, self._pairs = config, config.uc
        self._endpoint = UcEndpoint(config.envelope.src_ip, 4 * config.elements)
        for cell in range(config.window):
            self._endpoint.add_qp(self._pairs.host_qp(cell, config.envelope))

    def receive(self, frame: Buffer) -> Arrival | None:
        if not self._endpoint.is_for_us(frame):
            return None
        try:
            found = self._endpoint.receive(frame)
        except UcError as error:
            raise DatagramError(error.reason, str(error)) from None
        if found is None:
            return None
        config, write = self._config, found.write
        key, version = key_version(write.rkey)
        if key != self._pairs.rkey:
            raise DatagramError("malformed", f"memory key {write.rkey:#x}, ours is {self._pairs.rkey:#x}")
        sequence, exponents = from_write(write, self._pairs.va, 4 * config.elements)
        header = AggregationHeader(
            policy=Policy.SWITCHML,
            kind=DatagramKind.RESULT,
            job=config.collective.job,
            sequence=sequence,
            slot=config.first_slot + found.qpn - self._pairs.qpn,
            bitmap0=(1 << config.collective.size) - 1,
            fan_in0=config.collective.size,
            nelem=len(write.payload) // 4,
            flags=DatagramFlag.VERSION if version else 0,
            exponent0=exponents[0],
            exponent1=exponents[1],
        )
        return Arrival(found.src_ip, header, write.payload)

    def frames(self, header: AggregationHeader, payload: bytes) -> Sequence[bytes]:
        pairs, cell = self._pairs, header.slot - self._config.first_slot
        return self._endpoint.send(
            pairs.qpn + cell, to_write(header, pairs.va, 4 * self._config.elements, header.slot << 1, payload)
        )
