"""What the packets of a DLCP job say, in the fields of `AggregationHeader`.

| kind | from, to | says |
|---|---|---|
| DATA | worker, to the server | packet `sequence` - 1 of the gradient of the rank in `bitmap0`, iteration `tensor` |
| DATA | switch, to the server | the sum of those packets of the ranks in `bitmap0` |
| DATA | rank of a ring, to its successor | the same of the vector of step `slot` |
| RESULT | server, to a worker | the same of the sum, for the rank in `bitmap0` |
| ACK | receiver of one of these, back | this packet is there; with LAST: send no more of this iteration |

RESEND: it left before; no switch adds it.
"""

from __future__ import annotations

from workloads.dlcp.config import DlcpConfig
from workloads.wire import Envelope
from workloads.wire.aggregation import AGGREGATION_PORT, AggregationHeader, DatagramKind, Policy, encode_datagram

__all__ = ["header_of", "rank_of", "ranks_of", "template_to"]


def header_of(config: DlcpConfig, kind: DatagramKind, rank: int, iteration: int, step: int = 0) -> AggregationHeader:
    """Header of all packets of a vector, without their numbers and sizes. `rank`: over a server the worker's, in both
    directions; in a ring the sender's."""
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


def template_to(envelope: Envelope) -> bytes:
    """A frame of no elements, whose addresses are those of what leaves that way."""
    header = AggregationHeader(Policy.DLCP, DatagramKind.ACK, job=0, sequence=0, slot=0, bitmap0=0, fan_in0=1)
    return encode_datagram(envelope, AGGREGATION_PORT, header, b"")


def rank_of(bitmap: int) -> int:
    """Rank of a bitmap with one rank."""
    return bitmap.bit_length() - 1


def ranks_of(bitmap: int) -> list[int]:
    return [rank for rank in range(bitmap.bit_length()) if bitmap >> rank & 1]
