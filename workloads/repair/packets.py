"""What the packets of a repair job say, in the fields of `AggregationHeader`.

| kind | from, to | says |
|---|---|---|
| DATA | donor, to the switch or the newcomer; switch, to the next one | symbols of those in `bitmap0`; `op` 2, or 3 |
| RESULT | last switch, to the newcomer | the symbols of all donors, multiplied and added |
| ACK | newcomer, to the switch or a donor; switch, downwards | the newcomer has this block of those in `bitmap0` |
| REMINDER | switch, to the next one; last switch, to the newcomer | does the newcomer have this block? |

With `op` 3 the combining node multiplies by `exponent0`, a byte.
"""

from __future__ import annotations

from workloads.datagrams.arrival import Arrival
from workloads.repair.config import RepairConfig
from workloads.wire.aggregation import AggregationHeader, DatagramKind, Policy

__all__ = ["OP_GF256", "OP_XOR", "coefficient_of", "data_header"]

OP_XOR, OP_GF256 = 2, 3
"""`AggregationHeader.op`"""
_BYTE = 256


def data_header(config: RepairConfig, coefficient: int, iteration: int) -> AggregationHeader:
    """Header of all packets of a donor, except their numbers and sizes. `coefficient`: the factor for the combining
    node."""
    gf256 = config.op == "gf256"
    signed = coefficient - _BYTE if coefficient >= _BYTE // 2 else coefficient
    return AggregationHeader(
        policy=Policy.REPAIR,
        kind=DatagramKind.DATA,
        job=config.collective.job,
        sequence=0,
        slot=0,
        bitmap0=1 << config.collective.rank,
        fan_in0=config.share.d,
        op=OP_GF256 if gf256 else OP_XOR,
        exponent0=signed if gf256 else 0,
        tensor=iteration,
    )


def coefficient_of(header: AggregationHeader | Arrival) -> int:
    """The factor for the payload."""
    return header.exponent0 % _BYTE if header.op == OP_GF256 else 1
