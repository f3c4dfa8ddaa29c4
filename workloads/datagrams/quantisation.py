"""How datagram protocols carry a tensor: blocks of elements, and for floats the exponents that turn them into integers.

Source: the exponent quantisation of SwitchML's public implementation (protocol text, section 2.3); ATP and ESA use it
too. A block is what one packet carries; each half of it has an exponent of its own. Packet k carries the exponents of
block k and the integers of block k - W. When it leaves, the result of packet k - W is there. That result has the
largest exponent that any worker has for block k - W.

For a half block with |x| < 2^E in all of n workers:  scale = (2^31 - 1) / n * 2^-E,  q = round(x * scale) in binary64,
to nearest, ties to even. The sum of n such q fits 32 bits. Then result = sum / scale in binary64, rounded to binary32.
Every step is one IEEE 754 operation, so that the bits are the same everywhere.

ATP's release has one scale for all instead (10^6), and nothing to agree on: q = round(x * scale), result = sum / scale.
Sums may then leave 32 bits.
"""

from __future__ import annotations

from array import array
from typing import Any

import cython
import numpy as np
from numpy.typing import NDArray

from workloads.gradients import Vector

if not cython.compiled:
    from math import ldexp

    from workloads.kernels import (
        dequantise,
        finished,
        largest_exponents,
        new_draft,
        quantise,
        read_words,
        write_words,
    )

__all__ = [
    "LOWEST_EXPONENT",
    "Exponents",
    "FixedTensor",
    "FloatTensor",
    "Int32Tensor",
    "Tensor",
    "Unquantisable",
    "create_tensor",
]

Exponents = tuple[int, int]
LOWEST_EXPONENT = -126
"""exponent of a half block with nothing but zeros and subnormals"""
_BIAS = 126
_TOO_LARGE = 254
"""biased exponent from which on 2^E does not fit an int8: |x| >= 2^127, infinities, NaN"""
_LARGEST = 2147483647.0
_NUMBERS = "q"
"""type code of arrays with 64 bits"""


class Unquantisable(ValueError):
    """A gradient that has no integers."""


class Tensor:
    """One iteration's gradient on its way out, and the result on its way in."""

    def __init__(self, packets: int, ahead: int) -> None:
        self.packets = packets
        self.ahead = ahead
        """the integers of block k go in packet k + ahead, what must be known of it before in packet k"""

    def elements_in(self, packet: int) -> int:
        """How many elements packet `packet` of this tensor carries."""
        raise NotImplementedError

    def exponent(self, packet: int, half: int) -> int:
        """That it carries."""
        return 0

    def fill(self, draft: Any, at: int, packet: int) -> None:
        """Write the packet's elements, int32 in network byte order, from `at` of a frame. The result of packet `packet`
        - W must be there."""
        raise NotImplementedError

    def can_be(self, packet: int, first: int, second: int) -> bool:
        """Whether a result of that packet may carry these exponents: the largest of all are not below our own."""
        return True

    def put(self, packet: int, first: int, second: int, frame: bytes, at: int, count: int) -> None:
        """The result of a packet came: exponents, and `count` elements from `at` of a frame."""
        raise NotImplementedError

    def payload(self, packet: int) -> tuple[Exponents, bytes]:
        """All that a packet carries."""
        draft = new_draft(4 * self.elements_in(packet))
        self.fill(draft, 0, packet)
        return (self.exponent(packet, 0), self.exponent(packet, 1)), finished(draft)


class Int32Tensor(Tensor):
    """int32, whose sums wrap: nothing to agree on, block k goes in packet k."""

    def __init__(self, gradient: Vector, result: Vector, block: int) -> None:
        super().__init__(-(-len(gradient) // block), 0)
        self._integers: Any = gradient
        self._result: Any = result
        self._block, self._elements = block, len(gradient)

    def elements_in(self, packet: int) -> int:
        return min(self._block, self._elements - packet * self._block)

    def fill(self, draft: Any, at: int, packet: int) -> None:
        write_words(draft, at, self._integers, packet * self._block, self.elements_in(packet))

    def put(self, packet: int, first: int, second: int, frame: bytes, at: int, count: int) -> None:
        read_words(self._result, packet * self._block, frame, at, count)


class FixedTensor(Tensor):
    """float32 times one scale, rounded to nearest, ties to even. Raises Unquantisable for values whose integers do not
    fit 32 bits, or that are not finite."""

    def __init__(self, gradient: Vector, result: Vector, block: int, scale: float) -> None:
        super().__init__(-(-len(gradient) // block), 0)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.rint(gradient.astype(np.float64) * scale)
        fits = np.abs(scaled) <= _LARGEST
        if not fits.all():
            bad = int(np.flatnonzero(~fits)[0])
            raise Unquantisable(
                f"element {bad} is {float(gradient[bad])!r}: times {scale:g} it is no integer of 32 bits"
            )
        self._integers: Any = scaled.astype(np.int32)
        self._result: Any = result
        self._block, self._elements, self._scale = block, len(gradient), scale

    def elements_in(self, packet: int) -> int:
        return min(self._block, self._elements - packet * self._block)

    def fill(self, draft: Any, at: int, packet: int) -> None:
        write_words(draft, at, self._integers, packet * self._block, self.elements_in(packet))

    def put(self, packet: int, first: int, second: int, frame: bytes, at: int, count: int) -> None:
        dequantise(self._result, packet * self._block, frame, at, count, self._scale)


class FloatTensor(Tensor):
    """float32 as integers. Raises Unquantisable for values that are not finite, or not below 2^127."""

    def __init__(self, gradient: Vector, result: Vector, block: int, workers: int, window: int) -> None:
        blocks = -(-len(gradient) // block)
        # With fewer blocks than W some packets are empty, so that the packet W later never waits for less than it
        # needs.
        super().__init__(max(blocks, window) + window, window)
        self._gradient: Any = gradient
        self._result: Any = result
        self._block, self._half, self._blocks = block, block // 2, blocks
        self._elements = len(gradient)
        self._share = _LARGEST / workers
        own = _exponents(gradient, block // 2, blocks)
        self._own: Any = own
        self._agreed: Any = own[:]
        """largest exponents of all workers, two of each block as in `_own`, as soon as `_is_agreed`"""
        self._is_agreed: Any = array(_NUMBERS, [0]) * blocks

    def elements_in(self, packet: int) -> int:
        block = packet - self.ahead
        return min(self._block, self._elements - block * self._block) if 0 <= block < self._blocks else 0

    def exponent(self, packet: int, half: int) -> int:
        return self._own[2 * packet + half] if packet < self._blocks else LOWEST_EXPONENT

    def fill(self, draft: Any, at: int, packet: int) -> None:
        block, count = packet - self.ahead, self.elements_in(packet)
        if count:
            first, low = block * self._block, min(count, self._half)
            quantise(draft, at, self._gradient, first, low, self._scale(block, 0))
            quantise(draft, at + 4 * low, self._gradient, first + low, count - low, self._scale(block, 1))

    def can_be(self, packet: int, first: int, second: int) -> bool:
        if packet >= self._blocks:
            return True
        return bool(first >= self._own[2 * packet] and second >= self._own[2 * packet + 1])

    def put(self, packet: int, first: int, second: int, frame: bytes, at: int, count: int) -> None:
        if packet < self._blocks:
            self._agreed[2 * packet], self._agreed[2 * packet + 1] = first, second
            self._is_agreed[packet] = 1
        block = packet - self.ahead
        if 0 <= block < self._blocks:
            start, low = block * self._block, min(count, self._half)
            dequantise(self._result, start, frame, at, low, self._scale(block, 0))
            dequantise(self._result, start + low, frame, at + 4 * low, count - low, self._scale(block, 1))

    def _scale(self, block: int, half: int) -> float:
        assert self._is_agreed[block], "the packet W before has its result"
        return ldexp(self._share, -self._agreed[2 * block + half])


def _exponents(gradient: Vector, half: int, blocks: int) -> Any:
    """Two of each block, one of each half: the least e >= -126 with |x| < 2^e for all elements."""
    found: Any = array(_NUMBERS, [0]) * (2 * blocks)
    largest_exponents(found, gradient, half)
    exponents: NDArray[np.int64] = np.frombuffer(found, np.int64)
    if exponents.max(initial=0) >= _TOO_LARGE:
        bits = gradient.view(np.uint32) >> np.uint32(23) & np.uint32(0xFF)
        bad = int(np.flatnonzero(bits >= _TOO_LARGE)[0])
        raise Unquantisable(f"element {bad} is {float(gradient[bad])!r}: what travels as integers must be below 2^127")
    exponents -= _BIAS
    return found


def create_tensor(
    gradient: Vector, result: Vector, *, block: int, workers: int, window: int, fixed_scale: float | None = None
) -> Tensor:
    """For float32 or int32 arrays of shape (elements,). `fixed_scale`: of floats; None: by exponents. Raises
    Unquantisable."""
    dtype: Any = gradient.dtype
    if dtype.kind == "f" and fixed_scale is not None:
        return FixedTensor(gradient, result, block, fixed_scale)
    if dtype.kind == "f":
        return FloatTensor(gradient, result, block, workers, window)
    return Int32Tensor(gradient, result, block)
