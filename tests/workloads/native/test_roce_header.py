"""roce.h against the Python codec, on frames of a kernel and on frames broken at random."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.native import require_native
from tests.support.pcap import pcap_frames
from workloads.wire import ICRC_BYTES, WireError, decode_packet, icrc_is_valid, icrc_of, psn_add, psn_diff
from workloads.wire.envelope import decode_envelope, ipv4_checksum
from workloads.wire.headers import Bth

NONE, PLAIN, ASK = 0, 1, 2
_HERE = Path(__file__).resolve()
_CAPTURES = _HERE.parents[2] / "data" / "rxe"


class View(ctypes.Structure):
    _fields_ = [
        ("end", ctypes.c_uint32),
        ("src_ip", ctypes.c_uint32),
        ("dst_ip", ctypes.c_uint32),
        ("qpn", ctypes.c_uint32),
        ("psn", ctypes.c_uint32),
        ("opcode", ctypes.c_uint8),
        ("pad", ctypes.c_uint8),
        ("ack_req", ctypes.c_uint8),
        ("becn", ctypes.c_uint8),
    ]


@pytest.fixture(scope="module")
def probe() -> ctypes.CDLL:
    library = require_native("roce_probe", [_HERE.parents[2] / "support" / "roce_probe.c"])
    library.probe_view_size.restype = ctypes.c_size_t
    library.probe_parse.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(View)]
    library.probe_icrc.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.probe_icrc.restype = ctypes.c_uint32
    library.probe_icrc_is_valid.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.probe_psn_diff.argtypes = [ctypes.c_uint32, ctypes.c_uint32]
    library.probe_psn_add.argtypes = [ctypes.c_uint32, ctypes.c_int32]
    library.probe_psn_add.restype = ctypes.c_uint32
    library.probe_round.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    return library


def _captured() -> list[bytes]:
    return [frame for path in sorted(_CAPTURES.glob("*.pcap")) for frame in pcap_frames(path)]


def _parse(probe: ctypes.CDLL, frame: bytes) -> tuple[int, View]:
    view = View()
    return probe.probe_parse(frame, len(frame), ctypes.byref(view)), view


def _agree(probe: ctypes.CDLL, frame: bytes) -> int:
    """Checks C against Python on one frame; the class that C gave it."""
    kind, view = _parse(probe, frame)
    try:
        found = decode_envelope(frame)
    except WireError:
        assert kind == ASK
        return kind
    if found is None:
        assert kind in (NONE, ASK)
    elif kind == PLAIN:
        envelope, at, end = found
        bth = Bth.decode(frame, at)
        assert (view.end, view.opcode, view.qpn, view.psn) == (end, bth.opcode, bth.dest_qpn, bth.psn)
        assert (view.pad, view.ack_req, view.becn) == (bth.pad, bth.ack_req, bth.becn)
        assert view.src_ip.to_bytes(4, "big") == envelope.src_ip
        assert view.dst_ip.to_bytes(4, "big") == envelope.dst_ip
        assert probe.probe_icrc(frame, end).to_bytes(4, "little") == icrc_of(frame[14 : end - ICRC_BYTES])
        assert bool(probe.probe_icrc_is_valid(frame, end)) == icrc_is_valid(frame)
    else:
        assert kind == ASK
    return kind


def test_view_has_the_size_that_python_thinks(probe: ctypes.CDLL) -> None:
    assert probe.probe_view_size() == ctypes.sizeof(View)


def test_captured_frames(probe: ctypes.CDLL) -> None:
    classes = [(_agree(probe, frame), len(decode_packet(frame).envelope.src_ip)) for frame in _captured()]  # type: ignore[union-attr]
    assert len(classes) == 792
    assert set(classes) == {(PLAIN, 4), (ASK, 16)}


def test_one_captured_icrc_is_wrong(probe: ctypes.CDLL) -> None:
    plain = [(frame, view) for frame in _captured() for kind, view in [_parse(probe, frame)] if kind == PLAIN]
    wrong = [frame for frame, view in plain if not probe.probe_icrc_is_valid(frame, view.end)]
    assert [frame[-4:].hex() for frame in wrong] == ["2cb776f9"]
    assert probe.probe_icrc(wrong[0], len(wrong[0])).to_bytes(4, "little").hex() == "e9c548e8"


def test_ethernet_padding_is_not_part_of_the_packet(probe: ctypes.CDLL) -> None:
    frame = pcap_frames(_CAPTURES / "send_only.A.pcap")[0]
    kind, view = _parse(probe, frame + bytes(7))
    assert (kind, view.end) == (PLAIN, len(frame))
    assert probe.probe_icrc_is_valid(frame + bytes(7), view.end)


@pytest.mark.parametrize(("at", "value"), [(20, 0x20), (21, 1), (23, 6), (36, 0), (12, 9), (14, 0x46)])
def test_what_is_not_roce(probe: ctypes.CDLL, at: int, value: int) -> None:
    """A fragment (two ways), TCP, another port, another ethertype, IP options."""
    frame = bytearray(_FRAMES[0])
    frame[at] = value
    frame[24:26] = ipv4_checksum(bytes(frame[14:34])).to_bytes(2, "big")
    assert decode_envelope(bytes(frame)) is None
    assert _parse(probe, bytes(frame))[0] == NONE


@settings(deadline=None)
@given(data=st.data())
def test_broken_frames(probe: ctypes.CDLL, data: st.DataObject) -> None:
    frame = bytearray(data.draw(st.sampled_from(_FRAMES)))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, min(len(frame) - 1, 58)))
        frame[at] = data.draw(st.sampled_from([0, 1, 4, 6, 17, 0x45, 0x60, 0xFF]) | st.integers(0, 255))
    if data.draw(st.booleans()):
        frame[24:26] = ipv4_checksum(bytes(frame[14:34])).to_bytes(2, "big")
    if data.draw(st.booleans()):
        frame = frame[: data.draw(st.integers(0, len(frame)))]
    _agree(probe, bytes(frame))


@settings(deadline=None)
@given(a=st.integers(0, (1 << 24) - 1), b=st.integers(0, (1 << 24) - 1), n=st.integers(-(1 << 23), (1 << 23) - 1))
def test_psn_arithmetic(probe: ctypes.CDLL, a: int, b: int, n: int) -> None:
    assert probe.probe_psn_diff(a, b) == psn_diff(a, b)
    assert probe.probe_psn_add(a, n) == psn_add(a, n)


def test_what_is_stored_is_what_was_loaded(probe: ctypes.CDLL) -> None:
    given_bytes = bytes(range(3, 24))
    out = ctypes.create_string_buffer(21)
    probe.probe_round(given_bytes, out)
    assert out.raw == given_bytes


_FRAMES = _captured()
