import pytest

from workloads.wire import Bth, Envelope, Packet, encode_packet, icrc_is_valid
from workloads.wire.ecn import mark_ce
from workloads.wire.envelope import decode_envelope


def frame(tos, v6=False):
    size = 16 if v6 else 4
    envelope = Envelope(bytes(6), bytes(6), bytes(size), bytes(size), tos=tos)
    return encode_packet(Packet(envelope, Bth(4, 1, 2), b"data"))


@pytest.mark.parametrize("v6", [False, True])
@pytest.mark.parametrize("tos", range(256))
def test_only_ecn_capable_packets_are_marked_and_stay_valid(tos, v6):
    marked = mark_ce(frame(tos, v6))
    if tos & 3 in (0, 3):
        assert marked is None
        return
    found = decode_envelope(marked)  # checks the IPv4 header checksum
    assert found is not None
    assert found[0].tos == tos | 3
    assert icrc_is_valid(marked)


@pytest.mark.parametrize(
    "head", [b"", bytes(13), bytes(12) + b"\x08\x06" + bytes(60), frame(2)[:33], frame(2, True)[:53]]
)
def test_what_is_no_ip_packet_is_left_alone(head):
    assert mark_ce(head) is None


def test_a_wrong_checksum_stays_wrong():
    broken = bytearray(frame(2))
    broken[24] ^= 0x10
    right, wrong = mark_ce(frame(2)), mark_ce(bytes(broken))
    assert right[24:26] != wrong[24:26]
