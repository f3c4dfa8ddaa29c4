"""A simulated card in this process: frames in and out, the register bus, the cycles that passed."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from switch_nodes.fpga.regmap import COUNTERS
from switch_nodes.fpga.rtl.names import PLANTS, Happening
from workloads.errors import InternalError
from workloads.machine import Buffer

__all__ = ["Emitted", "Happened", "SimulatedCard"]

_MOST_FRAME = 1 << 16
_BUS_CYCLES = 1_000_000
_FRAME_CYCLES = 2_000_000
_WORD = 4
_TAP_WORDS = 8


@dataclass(frozen=True, slots=True)
class Emitted:
    """A frame that left."""

    port: int
    frame: bytes
    step: int
    """frames that the card had begun with, this one's cause included"""
    cycle: int
    """when its last beat left"""


class Happened(NamedTuple):
    """What the status monitor showed (`switch_nodes/fpga/rtl/tap.py`)."""

    kind: Happening
    ring: int
    rank: int
    message: int
    """-1: unknown, as the offset"""
    offset: int
    packets: int
    reason: str


class SimulatedCard:
    """`library`: of `built_library`. `seed` draws gaps between beats and back-pressure (`pressure`). `bitstream_hash`:
    what register BITSTREAM_HASH shows. It is also a transport of the card's registers."""

    max_bytes = 1024

    def __init__(self, library: Path, *, seed: int = 0, bitstream_hash: bytes = bytes(32)) -> None:
        self._lib = lib = ctypes.CDLL(str(library))
        pointer, number = ctypes.c_void_p, ctypes.c_uint64
        lib.card_open.restype, lib.card_open.argtypes = pointer, [number, ctypes.c_char_p]
        lib.card_close.restype, lib.card_close.argtypes = None, [pointer]
        lib.card_pressure.restype, lib.card_pressure.argtypes = None, [pointer, ctypes.c_uint32, ctypes.c_uint32]
        lib.card_plant.restype, lib.card_plant.argtypes = None, [pointer, ctypes.c_int]
        lib.card_trace.restype, lib.card_trace.argtypes = None, [pointer, ctypes.c_char_p, number, number]
        lib.card_cycle.restype, lib.card_cycle.argtypes = number, [pointer]
        lib.card_wrong_beats.restype, lib.card_wrong_beats.argtypes = number, [pointer]
        lib.card_access.argtypes = [
            pointer, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32), number,
        ]  # fmt: skip
        lib.card_push.restype = None
        lib.card_push.argtypes = [pointer, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
        lib.card_run.argtypes = [pointer, number]
        lib.card_pop.restype = ctypes.c_long
        lib.card_pop.argtypes = [
            pointer, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(number), ctypes.POINTER(number), ctypes.c_char_p,
            ctypes.c_size_t,
        ]  # fmt: skip
        lib.card_tap.argtypes = [pointer, ctypes.POINTER(ctypes.c_uint32 * _TAP_WORDS)]
        # Word i of BITSTREAM_HASH is bytes 4i .. 4i+3, big-endian; the pins have word 0 lowest.
        words = b"".join(bitstream_hash[at : at + _WORD][::-1] for at in range(0, 32, _WORD))
        self._card = lib.card_open(seed, words)
        self._room = ctypes.create_string_buffer(_MOST_FRAME)

    def close(self) -> None:
        """The waveform, if there is one, is complete then."""
        if self._card:
            self._lib.card_close(self._card)
            self._card = None

    def __del__(self) -> None:
        self.close()

    @property
    def cycle(self) -> int:
        """Clock cycles so far."""
        return int(self._lib.card_cycle(self._card))

    @property
    def wrong_beats(self) -> int:
        """Beats so far that break a rule of AXI4-Stream."""
        return int(self._lib.card_wrong_beats(self._card))

    def pressure(self, gaps: int, stalls: int) -> None:
        """Of 256 cycles, how many pass without a new beat in, and without a port that takes beats, on average."""
        self._lib.card_pressure(self._card, gaps, stalls)

    def plant(self, name: str) -> None:
        """Let a planted bug act from now on; only of a design that has them."""
        self._lib.card_plant(self._card, list(PLANTS).index(name) + 1)

    def waveform(self, path: Path, first: int, last: int) -> None:
        """Write these cycles to a VCD file."""
        self._lib.card_trace(self._card, str(path).encode(), first, last)

    # The register bus.

    def _access(self, write: bool, address: int, word: int) -> int:
        value = ctypes.c_uint32(word)
        if self._lib.card_access(self._card, int(write), address, ctypes.byref(value), _BUS_CYCLES):
            raise ConnectionResetError(f"no answer within {_BUS_CYCLES} cycles")
        return value.value

    def read(self, address: int, size: int) -> bytes:
        """As `switch_nodes.fpga.transport.CardTransport`."""
        words = (self._access(False, address + at, 0) for at in range(0, size, _WORD))
        return b"".join(word.to_bytes(_WORD, "little") for word in words)

    def write(self, address: int, data: bytes) -> None:
        for at in range(0, len(data), _WORD):
            self._access(True, address + at, int.from_bytes(data[at : at + _WORD], "little"))

    # Frames.

    def push(self, port: int, frame: Buffer) -> None:
        """A frame waits before a data port; frames enter in the order of the calls."""
        self._lib.card_push(self._card, port, bytes(frame), len(frame))

    def run(self, limit: int = _FRAME_CYCLES) -> bool:
        """Until all frames are in and nothing is under way; whether that was so within `limit` cycles."""
        return not self._lib.card_run(self._card, limit)

    def rest(self, cycles: int) -> None:
        """Let this many cycles pass, or a few more."""
        end = self.cycle + cycles
        while self.cycle < end:
            self.run(end - self.cycle)

    def happenings(self) -> Iterator[Happened]:
        """What the engine did with packets, each once, in its order."""
        words = (ctypes.c_uint32 * _TAP_WORDS)()
        while not self._lib.card_tap(self._card, ctypes.byref(words)):
            kind, known, ring, rank, message, offset, packets, reason = words
            place = (message, offset) if known else (-1, -1)
            yield Happened(Happening(kind), ring, rank, *place, packets, list(COUNTERS)[reason])

    def emitted(self) -> Iterator[Emitted]:
        """Frames that left, each once."""
        port, step, cycle = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_uint64()
        while True:
            size = self._lib.card_pop(
                self._card, ctypes.byref(port), ctypes.byref(step), ctypes.byref(cycle), self._room, _MOST_FRAME
            )
            if size < 0:
                return
            if size > _MOST_FRAME:
                raise InternalError(f"the simulated card emitted a frame of {size} bytes")
            yield Emitted(port.value, self._room.raw[:size], step.value, cycle.value)
