"""The fields of a SwitchML packet in an RDMA WRITE with immediate, and the queue pairs that carry it.

| field | where | |
|---|---|---|
| job, rank, slot | destination QPN at the switch | rank << 16 over the slot index, as in the public implementation |
| slot, version | R_Key at the switch: slot << 1, with the version in the lowest bit | public |
| version | R_Key at the worker: its key, with the version in the lowest bit | ours |
| sequence | address: block n of the job lies n blocks behind the start of the worker's memory | ours |
| sequence | immediate, low 16 bits: its low 16 bits | public |
| exponents | immediate, high 16 bits: of the first half, of the second half | ours (public: one, in the third byte) |
| elements | length in RETH | public |

Policy, kind, operation, workers and tensor are not there: both ends know them from the queue pair.
Source: `p4lang/p4app-switchML`, `rdma_worker_thread.cc`, `rdma_receiver.p4`, `rdma_sender.p4`; see `docs/switchml.md`.
"""

from __future__ import annotations

from workloads.events import FrameRejected
from workloads.transports.endpoint import Endpoint
from workloads.transports.messages import SendRequest
from workloads.uc import UcMessage, UcWrite
from workloads.wire.aggregation import AggregationHeader, DatagramError, DatagramFlag

__all__ = ["arrived", "frames_of", "from_write", "key_version", "to_write"]

_SEQUENCES = 1 << 32
_TAG = 0xFFFF


def to_write(header: AggregationHeader, va: int, block_bytes: int, rkey: int, payload: bytes) -> SendRequest:
    """`va`, `rkey`: of the receiver, without number and version."""
    number = (header.sequence - 1) % _SEQUENCES
    version = 1 if header.flags & DatagramFlag.VERSION else 0
    imm = (header.exponent0 & 0xFF) << 24 | (header.exponent1 & 0xFF) << 16 | header.sequence & _TAG
    return SendRequest(0, (payload,), imm, va + number * block_bytes, rkey | version)


def frames_of(endpoint: Endpoint[UcMessage], qpn: int, message: SendRequest) -> list[bytes]:
    """The frames that carry a message, in the order in which they must leave."""
    endpoint.post_send(qpn, message, 0)
    frames = []
    while (frame := endpoint.next_frame(0)) is not None:
        frames.append(frame)
    return frames


def arrived(endpoint: Endpoint[UcMessage], frame: bytes) -> UcMessage | None:
    """The message that a frame completes. Raises DatagramError when the endpoint drops the frame."""
    endpoint.receive_frame(0, frame, 0)
    message = endpoint.next_completion()
    if message is None and isinstance(event := endpoint.next_event(), FrameRejected):
        raise DatagramError(event.reason, event.detail)
    return message


def key_version(rkey: int) -> tuple[int, int]:
    """(key without version, version)"""
    return rkey & ~1, rkey & 1


def from_write(write: UcWrite, va: int, block_bytes: int) -> tuple[int, tuple[int, int]]:
    """(sequence, exponents). Raises DatagramError when the parts contradict each other."""
    number, rest = divmod(write.va - va, block_bytes)
    sequence = (number + 1) % _SEQUENCES
    if rest or not 0 <= number < _SEQUENCES or len(write.payload) % 4:
        raise DatagramError("malformed", f"{len(write.payload)} bytes for address {write.va:#x}: no block lies there")
    if write.imm is None or write.imm & _TAG != sequence & _TAG:
        raise DatagramError("malformed", f"immediate {write.imm} with packet {sequence}")
    exponent0, exponent1 = write.imm >> 24, write.imm >> 16 & 0xFF
    return sequence, (exponent0 - (exponent0 >> 7 << 8), exponent1 - (exponent1 >> 7 << 8))
