"""The CRC-32 of Ethernet as XOR trees: what a whole beat, or zeros before or behind it, do to the register.

The register is linear over GF(2): register' = Z(register) ^ D(data). So the trees follow from the register's answers
to single ones. The iCRC is this CRC over eight bytes of ones and the masked packet (`workloads/wire/icrc.py`).
"""

from __future__ import annotations

from functools import cache

from amaranth.hdl import Cat, Module, Signal, Value

from workloads.wire.envelope import ETHERNET

__all__ = ["ICRC_START", "VALID_RESIDUE", "absorbed", "advance", "retreat", "retreated"]

_POLYNOMIAL = 0xEDB88320
_BITS = 32
_IP_AT = ETHERNET.size


def _bit(register: int) -> int:
    return register >> 1 ^ (_POLYNOMIAL if register & 1 else 0)


def advance(register: int, data: bytes) -> int:
    """The register after these bytes, without the inversions at the start and the end."""
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = _bit(register)
    return register


def retreat(register: int, zeros: int) -> int:
    """The register before that many bytes of zeros."""
    for _ in range(8 * zeros):
        register = ((register ^ _POLYNOMIAL) << 1 | 1) if register >> 31 else register << 1
    return register & 0xFFFFFFFF


ICRC_START = retreat(advance(0xFFFFFFFF, b"\xff" * 8), _IP_AT)
"""register before the Ethernet header, if its bytes count as zeros, such that it is right for the iCRC behind them"""
VALID_RESIDUE = advance(0, b"\xff" * 4)
"""register after a packet with a right iCRC; after one with the complement of it, zero"""


@cache
def _columns(data_bytes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What each bit of the register, and of the data, does to the register."""
    state = tuple(advance(1 << bit, bytes(data_bytes)) for bit in range(_BITS))
    data = tuple(advance(0, (1 << bit).to_bytes(data_bytes, "little")) for bit in range(8 * data_bytes))
    return state, data


def _linear(m: Module, inputs: Value, columns: tuple[int, ...]) -> Signal:
    """The linear map whose columns these are, as wires."""
    bits = Signal(len(inputs))
    result = Signal(_BITS)
    m.d.comb += bits.eq(inputs)
    for row in range(_BITS):
        ones = [bits[at] for at, column in enumerate(columns) if column >> row & 1]
        m.d.comb += result[row].eq(Cat(ones).xor())
    return result


def absorbed(m: Module, register: Value, data: Value) -> Signal:
    """The register after `data`, whole bytes, the first one in the lowest bits."""
    state, each = _columns(len(data) // 8)
    return _linear(m, Cat(register, data), state + each)


def retreated(m: Module, register: Value, zeros: int) -> Signal:
    """The register before that many bytes of zeros."""
    return _linear(m, register, tuple(retreat(1 << bit, zeros) for bit in range(_BITS)))
