"""The two bodies of the kernels do the same to every bit."""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.support.native import require_native
from workloads import kernels

_PROBE = Path(__file__).resolve().parents[1] / "support" / "kernels_probe.c"
_ROOT = _PROBE.parents[2]
_P, _I, _D = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
words = st.binary(max_size=1200).map(lambda data: data[: len(data) // 4 * 4])
floats = arrays.arrays(np.float32, st.integers(0, 300), elements=st.floats(-(2.0**30), 2.0**30, width=32))


@pytest.fixture(scope="module", name="compiled")
def the_compiled_bodies() -> Any:
    folders = (_ROOT / "workloads",)
    text = b"".join(header.read_bytes() for folder in folders for header in sorted(folder.glob("*.h")))
    flags = [f"-I{folder}" for folder in folders] + [f"-DPROBED={hashlib.sha256(text).hexdigest()[:8]}"]
    library = require_native("kernels_probe", [_PROBE], flags)
    library.probe_words_sum.argtypes, library.probe_words_sum.restype = [_P, _I], ctypes.c_uint32
    for name in ("read_words", "write_words", "add_words"):
        getattr(library, f"probe_{name}").argtypes, getattr(library, f"probe_{name}").restype = [_P, _P, _I], None
    for name in ("quantise", "dequantise"):
        getattr(library, f"probe_{name}").argtypes = [_P, _P, _I, _D]
        getattr(library, f"probe_{name}").restype = None
    library.probe_largest_exponents.argtypes, library.probe_largest_exponents.restype = [_P, _I, _P, _I, _I], None
    library.probe_draw_words.argtypes = [_P, _I, *[ctypes.c_uint64] * 3]
    library.probe_draw_words.restype = None
    library.probe_shape_floats.argtypes, library.probe_shape_floats.restype = [_P, _I], None
    return library


@given(st.binary(max_size=1300))
def test_the_sum_of_words(compiled: Any, data: bytes) -> None:
    padded = data + bytes(len(data) % 2)
    slow = sum(int.from_bytes(padded[at : at + 2], "big") for at in range(0, len(padded), 2)) % 0xFFFF
    assert compiled.probe_words_sum(data, len(data)) == kernels.words_sum(data, 0, len(data)) == slow


@given(words, st.integers(0, 2**32 - 1))
def test_words_are_read_added_and_written(compiled: Any, data: bytes, seed: int) -> None:
    count = len(data) // 4
    ours = np.random.default_rng(seed).integers(-(2**31), 2**31, count, np.int64).astype(np.int32)
    theirs, frame = ours.copy(), b"head" + data
    kernels.add_words(ours, 0, frame, 4, count)
    compiled.probe_add_words(theirs.ctypes.data, data, count)
    assert np.array_equal(ours, theirs)
    draft, room = kernels.new_draft(len(frame)), ctypes.create_string_buffer(len(data) or 1)
    kernels.write_words(draft, 4, ours, 0, count)
    compiled.probe_write_words(room, theirs.ctypes.data, count)
    assert bytes(draft[4:]) == room.raw[: len(data)]
    kernels.read_words(ours, 0, frame, 4, count)
    compiled.probe_read_words(theirs.ctypes.data, data, count)
    assert np.array_equal(ours, theirs)
    assert ours.tolist() == [int.from_bytes(data[at : at + 4], "big", signed=True) for at in range(0, len(data), 4)]


@given(floats, st.floats(2.0**-30, 1.0))
def test_floats_become_integers(compiled: Any, values: np.ndarray, scale: float) -> None:
    """Ties too: a scale of 1/2 makes many."""
    for factor in (scale, 0.5):
        draft, room = kernels.new_draft(4 * len(values)), ctypes.create_string_buffer(4 * len(values) or 1)
        kernels.quantise(draft, 0, values, 0, len(values), factor)
        compiled.probe_quantise(room, values.ctypes.data, len(values), factor)
        assert bytes(draft) == room.raw[: 4 * len(values)]


@given(words, st.floats(2.0**-140, 2.0**160, allow_subnormal=False))
def test_integers_become_floats(compiled: Any, data: bytes, scale: float) -> None:
    count = len(data) // 4
    ours, theirs = np.zeros(count, np.float32), np.zeros(count, np.float32)
    kernels.dequantise(ours, 0, data, 0, count, scale)
    compiled.probe_dequantise(theirs.ctypes.data, data, count, scale)
    assert ours.tobytes() == theirs.tobytes()


patterns = arrays.arrays(np.uint32, st.integers(0, 300), elements=st.integers(0, 2**32 - 1))


@given(patterns, st.integers(1, 20), st.integers(0, 3))
def test_the_largest_exponent_of_each_half(compiled: Any, bits: np.ndarray, half: int, more: int) -> None:
    """Also of NaNs, of a last half that is not whole, and of halves behind the last value."""
    count, values = -(-len(bits) // half) + more, bits.view(np.float32)
    ours, theirs = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    if count:
        kernels.largest_exponents(ours, values, half)
    compiled.probe_largest_exponents(theirs.ctypes.data, count, values.ctypes.data, len(values), half)
    slow = [max([word >> 23 & 0xFF for word in bits[k * half :][:half].tolist()], default=0) for k in range(count)]
    assert ours.tolist() == theirs.tolist() == slow


@given(patterns)
def test_random_words_become_floats(compiled: Any, words: np.ndarray) -> None:
    every = np.arange(512, dtype=np.uint32) << np.uint32(23) | np.uint32(5)
    for each in (words, every):
        ours, theirs = each.copy(), each.copy()
        kernels.shape_floats(ours)
        compiled.probe_shape_floats(theirs.ctypes.data, len(theirs))
        assert ours.tolist() == theirs.tolist()
        assert np.isfinite(ours.view(np.float32)).all()


keys = st.integers(0, 2**64 - 1)


@given(st.integers(0, 40), st.integers(0, 40) | st.integers(0, 2**40), keys, keys)
def test_random_words_are_those_of_numpy(compiled: Any, count: int, first: int, key0: int, key1: int) -> None:
    ours, theirs = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
    kernels.draw_words(ours, first, key0, key1)
    compiled.probe_draw_words(theirs.ctypes.data, count, first, key0, key1)
    assert ours.tolist() == theirs.tolist()


def test_fields_stand_in_network_byte_order() -> None:
    draft = kernels.new_draft(8)
    kernels.put8(draft, 0, -2)
    kernels.put16(draft, 1, 0x1234)
    kernels.put32(draft, 3, 0xFEDCBA98)
    frame = kernels.finished(draft)
    assert frame == bytes.fromhex("fe1234fedcba9800")
    assert (kernels.get8(frame, 0), kernels.get16(frame, 1), kernels.get32(frame, 3)) == (0xFE, 0x1234, 0xFEDCBA98)
    kernels.copy_bytes(draft, 5, frame, 1, 3)
    assert bytes(draft) == bytes.fromhex("fe1234fedc1234fe")
