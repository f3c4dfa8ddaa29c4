"""How datagram protocols carry a tensor: blocks of elements, and for floats the exponents that turn them into integers.

Source: the exponent quantisation of SwitchML's public implementation (protocol text, section 2.3); ATP and ESA use it
too. A block is what one packet carries; each half of it has an exponent of its own. Packet k carries the exponents of
block k and the integers of block k - W: when it leaves, the result of packet k - W is there, and with it the largest
exponent that any worker has for that block.

For a half block with |x| < 2^E in all of n workers:  scale = (2^31 - 1) / n * 2^-E,  q = round(x * scale) in binary64,
to nearest, ties to even; the sum of n such q fits 32 bits.  result = sum / scale in binary64, rounded to binary32.
Every step is one IEEE 754 operation, so that the bits are the same everywhere.

ATP's release has one scale for all instead (10^6), and nothing to agree on: q = round(x * scale), result = sum / scale.
Sums may then leave 32 bits.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workloads.gradients import Vector

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
"""of a half block with nothing but zeros and subnormals"""
_BIAS = 126
_TOO_LARGE = 254
"""biased exponent from which on 2^E does not fit an int8: |x| >= 2^127, infinities, NaN"""
_LARGEST = 2147483647.0
_NOTHING = b""


class Unquantisable(ValueError):
    """A gradient that has no integers."""


class Tensor(Protocol):
    """One iteration's gradient on its way out, and the result on its way in."""

    packets: int
    ahead: int
    """the integers of block k go in packet k + ahead, what must be known of it before in packet k"""

    def payload(self, packet: int) -> tuple[Exponents, bytes]:
        """What packet `packet` of this tensor carries: exponents, and int32 in network byte order. The result of packet
        `packet` - W must be there."""
        ...

    def elements_in(self, packet: int) -> int:
        """How many elements that are."""
        ...

    def can_be(self, packet: int, exponents: Exponents) -> bool:
        """Whether a result of that packet may carry these: the largest of all are not below our own."""
        ...

    def put(self, packet: int, exponents: Exponents, payload: memoryview) -> None:
        """The result of a packet came."""
        ...


class Int32Tensor:
    """int32, whose sums wrap: nothing to agree on, block k goes in packet k."""

    ahead = 0

    def __init__(self, gradient: Vector, result: Vector, block: int) -> None:
        self._gradient, self._result, self._block = gradient, result, block
        self.packets = -(-len(gradient) // block)

    def payload(self, packet: int) -> tuple[Exponents, bytes]:
        at = packet * self._block
        return (0, 0), self._gradient[at : at + self._block].astype(">i4").tobytes()

    def elements_in(self, packet: int) -> int:
        return min(self._block, len(self._gradient) - packet * self._block)

    def can_be(self, packet: int, exponents: Exponents) -> bool:
        return True

    def put(self, packet: int, exponents: Exponents, payload: memoryview) -> None:
        at = packet * self._block
        self._result[at : at + self._block] = np.frombuffer(payload, ">i4")


class FixedTensor(Int32Tensor):
    """float32 times one scale, rounded to nearest, ties to even. Raises Unquantisable for values whose integers do not
    fit 32 bits, or that are not finite."""

    def __init__(self, gradient: Vector, result: Vector, block: int, scale: float) -> None:
        super().__init__(gradient, result, block)
        self._scale = scale
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.rint(gradient.astype(np.float64) * scale)
        fits = np.abs(scaled) <= _LARGEST
        if not fits.all():
            bad = int(np.flatnonzero(~fits)[0])
            raise Unquantisable(
                f"element {bad} is {float(gradient[bad])!r}: times {scale:g} it is no integer of 32 bits"
            )
        self._gradient = scaled

    def put(self, packet: int, exponents: Exponents, payload: memoryview) -> None:
        at, total = packet * self._block, np.frombuffer(payload, ">i4").astype(np.float64)
        with np.errstate(over="ignore"):
            self._result[at : at + self._block] = (total / self._scale).astype(np.float32)


class FloatTensor:
    """float32 as integers. Raises Unquantisable for values that are not finite, or not below 2^127."""

    def __init__(self, gradient: Vector, result: Vector, block: int, workers: int, window: int) -> None:
        self._gradient, self._result, self._block = gradient, result, block
        self._half, self._window = block // 2, window
        self.ahead = window
        self._share = _LARGEST / workers
        self._blocks = -(-len(gradient) // block)
        self.packets = max(self._blocks, window) + window
        """with fewer blocks than W some packets are empty, so that the packet W later never waits for less than it
        needs"""
        self._own = _exponents(gradient, self._half, self._blocks)
        self._scales: list[NDArray[np.float64] | None] = [None] * self._blocks

    def payload(self, packet: int) -> tuple[Exponents, bytes]:
        exponents = self._own[packet] if packet < self._blocks else (LOWEST_EXPONENT, LOWEST_EXPONENT)
        block = packet - self._window
        if not 0 <= block < self._blocks:
            return exponents, _NOTHING
        at = block * self._block
        scaled = self._gradient[at : at + self._block].astype(np.float64)
        scaled *= self._scale(block)[: len(scaled)]
        return exponents, np.rint(scaled, out=scaled).astype(">i4").tobytes()

    def elements_in(self, packet: int) -> int:
        block = packet - self._window
        return min(self._block, len(self._gradient) - block * self._block) if 0 <= block < self._blocks else 0

    def can_be(self, packet: int, exponents: Exponents) -> bool:
        if packet >= self._blocks:
            return True
        return all(given >= own for given, own in zip(exponents, self._own[packet], strict=True))

    def put(self, packet: int, exponents: Exponents, payload: memoryview) -> None:
        if packet < self._blocks:
            scale = np.empty(self._block)
            scale[: self._half], scale[self._half :] = (float(np.ldexp(self._share, -e)) for e in exponents)
            self._scales[packet] = scale
        block = packet - self._window
        if 0 <= block < self._blocks:
            at, total = block * self._block, np.frombuffer(payload, ">i4").astype(np.float64)
            total /= self._scale(block)[: len(total)]
            with np.errstate(over="ignore"):
                self._result[at : at + self._block] = total.astype(np.float32)
            self._scales[block] = None  # done with it

    def _scale(self, block: int) -> NDArray[np.float64]:
        found = self._scales[block]
        assert found is not None, "the packet W before has its result"
        return found


def _exponents(gradient: Vector, half: int, blocks: int) -> list[Exponents]:
    """Per block, of each half: the least e >= -126 with |x| < 2^e for all elements."""
    bits = np.zeros(2 * half * blocks, np.uint32)
    bits[: len(gradient)] = gradient.view(np.uint32) & np.uint32(0x7FFF_FFFF)
    biased = (bits.reshape(blocks, 2, half).max(axis=2) >> np.uint32(23)).astype(np.int64)
    if biased.max(initial=0) >= _TOO_LARGE:
        bad = int(np.flatnonzero(bits >> np.uint32(23) >= _TOO_LARGE)[0])
        raise Unquantisable(f"element {bad} is {float(gradient[bad])!r}: what travels as integers must be below 2^127")
    pairs: list[list[int]] = (biased - _BIAS).tolist()
    return [(first, second) for first, second in pairs]


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
