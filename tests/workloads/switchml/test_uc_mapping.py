"""The fields of a packet in an RDMA WRITE, there and back."""

from __future__ import annotations

import pytest

from workloads.switchml.uc_mapping import from_write, key_version, to_write
from workloads.transports.messages import SendRequest
from workloads.uc import UcWrite
from workloads.wire.aggregation import AggregationHeader, DatagramError, DatagramFlag, DatagramKind, Policy

VA, BLOCK = 0x10_0000_0000, 1024
HEADER = AggregationHeader(Policy.SWITCHML, DatagramKind.DATA, 7, 0x1_2346, 3, 1, 4)


def test_the_fields_stand_where_the_documentation_says() -> None:
    header = HEADER._replace(flags=DatagramFlag.VERSION, exponent0=-126, exponent1=127)
    made = to_write(header, VA, BLOCK, 6, b"data")
    assert made == SendRequest(0, (b"data",), 0x82_7F_23_46, VA + 0x1_2345 * BLOCK, 7)


@pytest.mark.parametrize("sequence", [1, 2, 0xFFFF, 0x10000, 0x10001, 0xFFFFFFFF, 0])
@pytest.mark.parametrize("exponents", [(0, 0), (-128, 127), (127, -128), (-1, 5)])
@pytest.mark.parametrize("version", [0, 1])
def test_there_and_back(sequence: int, exponents: tuple[int, int], version: int) -> None:
    header = HEADER._replace(
        sequence=sequence,
        flags=DatagramFlag.VERSION * version,
        exponent0=exponents[0],
        exponent1=exponents[1],
    )
    sent = to_write(header, VA, BLOCK, 0x50, b"")
    assert sent.remote_va is not None
    write = UcWrite(sent.remote_va, sent.rkey, sent.imm, b"")
    assert key_version(write.rkey) == (0x50, version)
    assert from_write(write, VA, BLOCK) == (sequence, exponents)
    assert 0 <= write.va < 1 << 64


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"va": VA + 4}, "no block lies there"),
        ({"va": VA - BLOCK}, "no block lies there"),
        ({"va": VA + (BLOCK << 32)}, "no block lies there"),
        ({"payload": b"abc"}, "3 bytes for address 0x1000000000: no block lies there"),
        ({"imm": None}, "immediate None with packet 1"),
        ({"imm": 2}, "immediate 2 with packet 1"),
        ({"va": VA + BLOCK}, "immediate 1 with packet 2"),
    ],
)
def test_contradictions_are_told(changes: dict[str, object], text: str) -> None:
    good = UcWrite(VA, 6, 1, b"")
    assert from_write(good, VA, BLOCK) == (1, (0, 0))
    with pytest.raises(DatagramError) as caught:
        from_write(good._replace(**changes), VA, BLOCK)  # type: ignore[arg-type]
    assert text in str(caught.value)
    assert caught.value.reason == "malformed"
