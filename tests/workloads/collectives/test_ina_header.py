import pytest

from workloads.collectives.ina_header import INA_HEADER_BYTES, InaHeader, InaHeaders
from workloads.config import ArithmeticSpec
from workloads.wire import WireError

GOLDEN = InaHeader(
    ring_id=0x0102, rank=3, size=8, msg_id=0x0A0B0C0D, msg_len_pkts=170, op=1, dtype=2, end=True, agg=True
)
GOLDEN_BYTES = bytes.fromhex("a7 01 12 03 0102 03 08 0a0b0c0d 00aa 0000")


def test_every_field_has_its_place() -> None:
    assert GOLDEN.encode() == GOLDEN_BYTES
    assert InaHeader.decode(b"\xff" * 5 + GOLDEN_BYTES, 5) == GOLDEN
    assert len(GOLDEN_BYTES) == INA_HEADER_BYTES == 16


def test_flags_are_apart() -> None:
    plain = InaHeader(1, 0, 2, 0, 1)
    assert plain.encode()[3] == 0b01
    assert InaHeader(1, 0, 2, 0, 1, agg=False).encode()[3] == 0
    assert InaHeader(1, 0, 2, 0, 1, agg=False, end=True).encode()[3] == 0b10


@pytest.mark.parametrize("size", range(16))
def test_truncation_is_a_wire_error(size: int) -> None:
    with pytest.raises(WireError, match=rf"INA header is truncated: {size} of 16 bytes"):
        InaHeader.decode(GOLDEN_BYTES[:size])


@pytest.mark.parametrize("index", [0, 1])
def test_wrong_magic_or_version_is_no_header(index: int) -> None:
    data = bytearray(GOLDEN_BYTES)
    data[index] ^= 2
    with pytest.raises(WireError, match="no INA header of version 1"):
        InaHeader.decode(data)


def test_codes_name_the_arithmetic() -> None:
    assert GOLDEN.arithmetic == ArithmeticSpec("max", "int32sat")
    assert InaHeader(1, 0, 2, 0, 1, op=3).arithmetic is None
    assert InaHeader(1, 0, 2, 0, 1, dtype=9).arithmetic is None


@pytest.mark.parametrize("end", [False, True])
@pytest.mark.parametrize(("msg_id", "packets"), [(0, 0), (1, 170), (0xFFFFFFFF, 0xFFFF)])
def test_headers_of_a_rank_are_those_encoded_one_by_one(msg_id: int, packets: int, end: bool) -> None:
    any_header = InaHeader(0x1234, 5, 9, 77, 3, op=2, dtype=1, end=True)
    expected = InaHeader(0x1234, 5, 9, msg_id, packets, op=2, dtype=1, end=end).encode()
    assert InaHeaders(any_header).encode(msg_id, packets, end) == expected


@pytest.mark.parametrize(("msg_id", "packets"), [(1 << 32, 1), (-1, 1), (0, 1 << 16)])
def test_headers_of_a_rank_refuse_what_does_not_fit(msg_id: int, packets: int) -> None:
    with pytest.raises(WireError, match="does not fit"):
        InaHeaders(InaHeader(1, 0, 2, 0, 1)).encode(msg_id, packets, False)
