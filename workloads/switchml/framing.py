"""How SwitchML's packets stand on the wire, at a worker's end: what the worker itself does not know.

Both framings speak of a packet by the fields of `AggregationHeader`. Over UDP they are the header's bytes
(`workloads.wire.aggregation`), over UC they are spread over BTH, RETH and immediate (`workloads.switchml.uc_mapping`).
"""

from __future__ import annotations

from collections import deque

import cython

from workloads.datagrams.arrival import Arrival
from workloads.datagrams.quantisation import Tensor
from workloads.switchml.config import SwitchMlConfig
from workloads.switchml.uc_mapping import arrived, frames_of, from_write, key_version, to_write
from workloads.transports.endpoint import Endpoint
from workloads.uc import UcMessage, UcPairs
from workloads.uc.transport import UNRELIABLE
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

if not cython.compiled:
    from workloads.kernels import bit_of, copy_bytes, finished, new_draft, put8, put16, put32
    from workloads.wire.inspected import (
        AT_EXPONENT0,
        AT_EXPONENT1,
        AT_FLAGS,
        AT_KIND,
        AT_NELEM,
        AT_PAYLOAD,
        AT_SEQUENCE,
        AT_SLOT,
        AT_TENSOR,
        address_of,
        is_sound,
        seal,
    )

__all__ = ["HostFraming", "create_framing"]

_DATA, _RESULT, _EXPONENTS = int(DatagramKind.DATA), int(DatagramKind.RESULT), int(DatagramKind.EXPONENTS)
_POLICY, _EMPTY = int(Policy.SWITCHML), int(DatagramFlag.EMPTY)


class HostFraming:
    def __init__(self) -> None:
        self.leaving: deque[bytes] = deque()
        """the rest of a packet that takes several frames"""

    def read(self, frame: bytes, found: Arrival) -> bool:
        """False: not for us, or more frames belong to it. Raises DatagramError for what is for us and cannot be
        used."""
        raise NotImplementedError

    def write(self, tensor: Tensor, own: int, sequence: int, slot: int, flags: int, number: int) -> bytes:
        """Packet `own` of a tensor, which is the worker's tensor `number`: the first frame that carries it to the
        switch; the others are in `leaving`. `flags`: with EMPTY it has no elements."""
        raise NotImplementedError


def create_framing(config: SwitchMlConfig) -> HostFraming:
    return UdpFraming(config) if config.uc is None else UcFraming(config)


class UdpFraming(HostFraming):
    """One datagram; the same packet has the same bytes each time."""

    def __init__(self, config: SwitchMlConfig) -> None:
        HostFraming.__init__(self)
        share = config.collective
        self._address = int.from_bytes(config.envelope.src_ip, "big")
        header = AggregationHeader(_POLICY, _DATA, share.job, 1, 0, bit_of(share.rank), share.size)
        self._template = encode_datagram(config.envelope, AGGREGATION_PORT, header, b"")

    def read(self, frame: bytes, found: Arrival) -> bool:
        if not is_sound(frame):
            decode_datagram(frame)  # which says why
            return False
        if address_of(frame, True) != self._address:
            return False
        found.read(frame)
        return True

    def write(self, tensor: Tensor, own: int, sequence: int, slot: int, flags: int, number: int) -> bytes:
        count = 0 if flags & _EMPTY else tensor.elements_in(own)
        draft = new_draft(AT_PAYLOAD + 4 * count)
        copy_bytes(draft, 0, self._template, 0, AT_PAYLOAD)
        put8(draft, AT_KIND, _DATA if count or flags & _EMPTY else _EXPONENTS)
        put16(draft, AT_FLAGS, flags)
        put32(draft, AT_SEQUENCE, sequence)
        put16(draft, AT_SLOT, slot)
        put8(draft, AT_EXPONENT0, tensor.exponent(own, 0))
        put8(draft, AT_EXPONENT1, tensor.exponent(own, 1))
        put16(draft, AT_NELEM, count)
        put32(draft, AT_TENSOR, number)
        if count:
            tensor.fill(draft, AT_PAYLOAD, own)
        seal(draft, AT_PAYLOAD + 4 * count)
        return finished(draft)


class UcFraming(HostFraming):
    """A message on the queue pair of its index; the same packet has new PSNs each time."""

    def __init__(self, config: SwitchMlConfig) -> None:
        HostFraming.__init__(self)
        assert config.uc is not None, "a worker over UC"
        self._config: SwitchMlConfig = config
        self._pairs: UcPairs = config.uc
        pairs = [config.uc.host_qp(cell, config.envelope) for cell in range(config.window)]
        self._endpoint: Endpoint[UcMessage] = UNRELIABLE.endpoint(pairs, longest=4 * config.elements)

    def read(self, frame: bytes, found: Arrival) -> bool:
        message = arrived(self._endpoint, frame)
        if message is None:
            return False
        config, write = self._config, message.write
        key, version = key_version(write.rkey)
        if key != self._pairs.rkey:
            raise DatagramError("malformed", f"memory key {write.rkey:#x}, ours is {self._pairs.rkey:#x}")
        sequence, exponents = from_write(write, self._pairs.va, 4 * config.elements)
        size = config.collective.size
        header = AggregationHeader(
            policy=Policy.SWITCHML,
            kind=DatagramKind.RESULT,
            job=config.collective.job,
            sequence=sequence,
            slot=config.first_slot + message.qpn - self._pairs.qpn,
            bitmap0=(1 << size) - 1,
            fan_in0=size,
            nelem=len(write.payload) // 4,
            flags=DatagramFlag.VERSION if version else 0,
            exponent0=exponents[0],
            exponent1=exponents[1],
        )
        found.know(message.src_ip, header, bytes(write.payload))
        return True

    def write(self, tensor: Tensor, own: int, sequence: int, slot: int, flags: int, number: int) -> bytes:
        config, pairs = self._config, self._pairs
        (first, second), payload = tensor.payload(own)
        header = AggregationHeader(
            Policy.SWITCHML, _DATA if payload else _EXPONENTS, config.collective.job, sequence, slot,
            bit_of(config.collective.rank), config.collective.size, len(payload) // 4, flags, first, second, number,
        )  # fmt: skip
        write = to_write(header, pairs.va, 4 * config.elements, slot << 1, payload)
        self.leaving.extend(frames_of(self._endpoint, pairs.qpn + slot - config.first_slot, write))
        frame: bytes = self.leaving.popleft()
        return frame
