"""Frames that are nearly right: real ones of simulated runs, changed in bytes, fields and lengths, many of them with
checksums made anew so that they get past the first checks."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workloads.machine import FrameBatch

__all__ = ["LONGEST", "Mutator", "Stream"]

LONGEST = 9216
"""bytes of a mutant, at most"""
_LENGTHS = np.array(
    [0, 1, 13, 14, 15, 33, 34, 35, 41, 42, 43, 53, 54, 57, 58, 59, 62, 66, 74, 77, 78, 79, 85, 86, 106, 9100, LONGEST]
)
"""around the ends of headers"""
_WORDS = np.array([0, 1, 3, 4, 7, 8, 20, 24, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF])
_FIELDS = np.array([12, 14, 16, 20, 22, 34, 36, 38, 42, 44, 46, 48, 50, 52, *range(54, 94, 2)])
"""16-bit words from EtherType to the end of a RETH with an INA header, or of an aggregation header"""
_OPCODES = np.array([*range(0x18), 0x2C, 0x64, 0x81, 0xC1, 0xFF])
_MASKED = np.array([15, 22, 24, 25, 40, 41, 46])
"""bytes that an iCRC takes as ones (IBTA annex A17)"""


@dataclass(frozen=True, slots=True)
class Stream:
    """What one node heard in a run, in order."""

    frames: Sequence[bytes]
    ports: Sequence[int]


class Mutator:
    """`valid`: the share of changed packets whose iCRC is made anew. Many of those bring a queue pair into its error
    state soon, and few leave it long enough alone to get far."""

    def __init__(self, stream: Stream, rng: np.random.Generator, valid: float = 0.8) -> None:
        self._rng, self._valid = rng, valid
        self._lengths = np.array([len(frame) for frame in stream.frames], np.int32)
        self._bases = np.zeros((len(stream.frames), int(self._lengths.max(initial=64))), np.uint8)
        for row, frame in zip(self._bases, stream.frames, strict=True):
            row[: len(frame)] = np.frombuffer(frame, np.uint8)
        self._ports = np.array(stream.ports, np.int32)
        self._next = -1
        self.longest = self._bases.shape[1]
        """bytes of a frame of the stream"""

    def rewind(self) -> None:
        """Go on with the first frame of the stream."""
        self._next = -1

    def fill(self, batch: FrameBatch) -> NDArray[np.bool_]:
        """All rows: the next frames of the stream as they are, one in four, and between them changed ones of the last
        64. Which rows are changed."""
        rng, count, width = self._rng, batch.capacity, batch.stride
        changed = rng.random(count) < 0.75
        order = self._next + np.cumsum(~changed)
        self._next = int(order[-1] % len(self._lengths))
        base = np.where(changed, np.maximum(order - rng.integers(0, 64, count), 0), order) % len(self._lengths)
        common = min(width, self._bases.shape[1])
        batch.frames[:, :common] = self._bases[base, :common]
        batch.frames[:, common:] = 0x5A
        batch.lengths[:] = np.minimum(self._lengths[base], width)
        batch.ports[:] = self._ports[base]
        rows = np.flatnonzero(changed)
        part, lengths = batch.frames[rows], batch.lengths[rows]
        self._change_bytes(part, lengths)
        self._change_fields(part, base[rows])
        self._change_lengths(part, lengths)
        self._mend(part, lengths)
        batch.frames[rows], batch.lengths[rows] = part, lengths
        stray = rows[rng.random(len(rows)) < 0.05]
        batch.ports[stray] = rng.integers(0, 8, len(stray))
        batch.count = count
        return changed

    def _some(self, count: int, share: float) -> NDArray[np.intp]:
        return np.flatnonzero(self._rng.random(count) < share)

    def _change_bytes(self, frames: NDArray[np.uint8], lengths: NDArray[np.int32]) -> None:
        rng = self._rng
        for share in (0.3, 0.1):
            rows = self._some(len(frames), share)
            reach = np.where(rng.random(len(rows)) < 0.7, np.minimum(lengths[rows], 100), lengths[rows])
            frames[rows, (rng.random(len(rows)) * np.maximum(reach, 1)).astype(np.intp)] ^= (
                1 << rng.integers(0, 8, len(rows))
            ).astype(np.uint8)

    def _change_fields(self, frames: NDArray[np.uint8], base: NDArray[np.intp]) -> None:
        rng, count = self._rng, len(frames)
        rows = self._some(count, 0.25)
        at, words = rng.choice(_FIELDS, len(rows)), rng.choice(_WORDS, len(rows))
        frames[rows, at], frames[rows, at + 1] = words >> 8, words & 0xFF
        rows = self._some(count, 0.15)
        frames[rows, 42] = rng.choice(_OPCODES, len(rows))
        rows = self._some(count, 0.3)
        psn = frames[rows, 51].astype(np.int64) << 16 | frames[rows, 52].astype(np.int64) << 8 | frames[rows, 53]
        psn += rng.choice(np.array([-(1 << 23), -4096, -2, -1, 1, 2, 3, 64, 1 << 23]), len(rows))
        for place, shift in ((51, 16), (52, 8), (53, 0)):
            frames[rows, place] = psn >> shift & 0xFF
        rows = self._some(count, 0.1)  # headers of one frame in front of another's payload
        other, cut = base[rng.permutation(count)][rows], int(rng.choice([14, 34, 42, 54, 70]))
        frames[rows, :cut] = self._bases[other, :cut]

    def _change_lengths(self, frames: NDArray[np.uint8], lengths: NDArray[np.int32]) -> None:
        rng, count, width = self._rng, len(frames), frames.shape[1]
        rows = self._some(count, 0.12)
        lengths[rows] = rng.random(len(rows)) * (lengths[rows] + 1)
        rows = self._some(count, 0.06)
        lengths[rows] = np.minimum(rng.choice(_LENGTHS, len(rows)), width)
        rows = self._some(count, 0.06)
        lengths[rows] += (rng.random(len(rows)) * (width - lengths[rows] + 1)).astype(np.int32)

    def _mend(self, frames: NDArray[np.uint8], lengths: NDArray[np.int32]) -> None:
        """Lengths of IP and UDP, the checksum of IP and the iCRC, each in most frames."""
        rng, count = self._rng, len(frames)
        rows = np.flatnonzero((rng.random(count) < 0.7) & (lengths >= 42))
        for at, start in ((16, 14), (38, 34)):
            size = lengths[rows] - start
            frames[rows, at], frames[rows, at + 1] = size >> 8 & 0xFF, size & 0xFF
        rows = np.flatnonzero((rng.random(count) < 0.9) & (lengths >= 34))
        frames[rows, 24] = frames[rows, 25] = 0
        head = frames[rows, 14:34].astype(np.uint32)
        total = (head[:, 0::2] << 8 | head[:, 1::2]).sum(1)
        for _ in range(2):
            total = (total & 0xFFFF) + (total >> 16)
        frames[rows, 24], frames[rows, 25] = ~total >> 8 & 0xFF, ~total & 0xFF
        ends = 34 + (frames[:, 38].astype(np.int64) << 8 | frames[:, 39])
        roce = (frames[:, 36] == 4791 >> 8) & (frames[:, 37] == 4791 & 0xFF) & (ends <= lengths) & (ends >= 58)
        rows = np.flatnonzero((rng.random(count) < self._valid) & roce)
        masked = frames[rows, :54].copy()
        masked[:, _MASKED] = 0xFF
        masked[:, 6:14] = 0xFF
        for row, head_of in zip(rows.tolist(), masked, strict=True):
            end = int(ends[row])
            state = zlib.crc32(frames[row, 54 : end - 4].data, zlib.crc32(head_of[6:].data))
            frames[row, end - 4 : end] = np.frombuffer(state.to_bytes(4, "little"), np.uint8)
