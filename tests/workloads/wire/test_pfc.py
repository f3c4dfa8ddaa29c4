"""PFC frames, with scapy as witness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.wire.pfc import FRAME_BYTES, decode_pfc, encode_pfc, is_mac_control, pause_ns

SOURCE = bytes.fromhex("020000000001")
times = st.dictionaries(st.integers(0, 7), st.integers(0, 0xFFFF))


@given(times)
def test_what_is_written_is_read(quanta):
    frame = encode_pfc(SOURCE, quanta)
    assert len(frame) == FRAME_BYTES == 60
    assert is_mac_control(frame)
    assert decode_pfc(frame) == quanta


def test_the_bytes_of_one_frame():
    found = encode_pfc(SOURCE, {3: 0xFFFF, 0: 0})
    assert found.hex() == "0180c2000001" + "020000000001" + "8808" + "0101" + "0009" + "0000" * 3 + "ffff" + "00" * 34


@given(times)
def test_scapy_reads_it_alike(quanta):
    mac_control = pytest.importorskip("scapy.contrib.mac_control")
    from scapy.layers.l2 import Ether

    frame = Ether(encode_pfc(SOURCE, quanta))
    assert (frame.dst, frame.type) == ("01:80:c2:00:00:01", 0x8808)
    layer = frame[mac_control.MACControlClassBasedFlowControl]
    for pfc_class in range(8):
        assert bool(getattr(layer, f"c{pfc_class}_enabled")) is (pfc_class in quanta)
        assert getattr(layer, f"c{pfc_class}_pause_time") == quanta.get(pfc_class, 0)


@pytest.mark.parametrize("wrong", [{8: 1}, {-1: 1}, {0: 0x10000}, {0: -1}])
def test_what_does_not_fit_is_refused(wrong):
    with pytest.raises(ValueError, match=r"allowed: 0 \.\. 7"):
        encode_pfc(SOURCE, wrong)


def test_other_frames_are_none():
    frame = encode_pfc(SOURCE, {1: 2})
    assert decode_pfc(frame[:33]) is None
    assert decode_pfc(bytes(60)) is None
    assert decode_pfc(frame[:14] + b"\x00\x01" + frame[16:]) is None  # PAUSE of all classes (annex 31B)
    assert decode_pfc(b"\x01\x80\xc2\x00\x00\x02" + frame[6:]) is None


def test_pause_times_of_two_rates():
    assert pause_ns(65535, 40 * 10**9) == 838_848
    assert pause_ns(65535, 100 * 10**9) == 335_540
    assert pause_ns(1, 3 * 10**9) == 171
