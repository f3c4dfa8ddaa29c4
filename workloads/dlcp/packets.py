"""What the packets of a DLCP job say, in the fields of `AggregationHeader`.

| kind | from, to | says |
|---|---|---|
| DATA | worker, to the server | packet `sequence` - 1 of the gradient of the rank in `bitmap0`, iteration `tensor` |
| DATA | switch, to the server | the sum of those packets of the ranks in `bitmap0` |
| DATA | rank of a ring, to its successor | the same of the vector of step `slot` |
| RESULT | server, to a worker | the same of the sum, for the rank in `bitmap0` |
| ACK | whoever got one of these, back | this packet is there; with LAST: send no more of this iteration |

RESEND: it left before; no switch adds it.
"""

from __future__ import annotations

import numpy as np

from workloads.dlcp.config import DlcpConfig
from workloads.gradients import Vector
from workloads.machine import Buffer
from workloads.wire.aggregation import AggregationHeader, DatagramFlag, DatagramKind, Policy

__all__ = ["acknowledgement", "elements_in", "header_of", "payload_of", "rank_of", "ranks_of"]


def header_of(config: DlcpConfig, kind: DatagramKind, rank: int, iteration: int, step: int = 0) -> AggregationHeader:
    """Of all packets of a vector, without their numbers and sizes. `rank`: over a server the worker's, whichever way it
    goes; in a ring the sender's."""
    return AggregationHeader(
        policy=Policy.DLCP,
        kind=kind,
        job=config.collective.job,
        sequence=0,
        slot=step,
        bitmap0=1 << rank,
        fan_in0=config.collective.size,
        tensor=iteration,
    )


def acknowledgement(header: AggregationHeader, *, stop: bool) -> AggregationHeader:
    """Of DATA or RESULT."""
    flags = DatagramFlag.LAST if stop else 0
    return header._replace(kind=DatagramKind.ACK, nelem=0, flags=int(flags))


def payload_of(values: Vector) -> bytes:
    """In network byte order; bits stay."""
    return values.astype(values.dtype.newbyteorder(">")).tobytes()


def elements_in(payload: Buffer, dtype: np.dtype[np.generic]) -> Vector:
    """And back, shape (elements,)."""
    return np.frombuffer(payload, dtype.newbyteorder(">")).astype(dtype)


def rank_of(bitmap: int) -> int:
    """Of a bitmap with one rank."""
    return bitmap.bit_length() - 1


def ranks_of(bitmap: int) -> list[int]:
    return [rank for rank in range(bitmap.bit_length()) if bitmap >> rank & 1]
