"""Registers as data: what an address holds, who may write it, and its value after power-on."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["WORD", "Access", "Register", "RegisterMap", "check_of", "doubled", "doubled_value", "table"]

WORD = 4
"""bytes; every register is a whole number of words, and every access a whole number of registers' words"""
_MASK = 0xFFFFFFFF


class Access(StrEnum):
    READ = "ro"
    WRITE = "wo"
    BOTH = "rw"


@dataclass(frozen=True, slots=True)
class Register:
    """One register, or `count` equal ones side by side. Little-endian on the bus; of 64 bits the low word comes
    first."""

    name: str
    address: int
    """address of the first one, in bytes"""
    access: Access
    meaning: str
    reset: int = 0
    """value after power-on, of each one"""
    width: int = 32
    """bits of each one: 32 or 64"""
    count: int = 1

    @property
    def end(self) -> int:
        return self.address + self.count * self.width // 8

    def at(self, index: int = 0) -> int:
        """Address of one of them. Raises IndexError when there are not so many."""
        if not 0 <= index < self.count:
            raise IndexError(f"{self.name}[{index}]")
        return self.address + index * self.width // 8

    def moved(self, prefix: str, by: int) -> Register:
        """The same register in the record of that name, `by` bytes behind the record's table."""
        return Register(
            prefix + self.name, self.address + by, self.access, self.meaning, self.reset, self.width, self.count
        )


class RegisterMap:
    """All registers of a card. Raises ValueError when two overlap, share a name, or do not lie on words."""

    def __init__(self, registers: Iterable[Register]) -> None:
        self.registers: tuple[Register, ...] = tuple(sorted(registers, key=lambda register: register.address))
        self._by_name = {register.name: register for register in self.registers}
        if len(self._by_name) != len(self.registers):
            raise ValueError("two registers have one name")
        self._by_word: dict[int, Register] = {}
        for register in self.registers:
            if register.address % (register.width // 8) or register.width not in (32, 64):
                raise ValueError(f"{register.name} does not lie on words of its width")
            for word in range(register.address, register.end, WORD):
                other = self._by_word.setdefault(word, register)
                if other is not register:
                    raise ValueError(f"{register.name} overlaps {other.name} at {word:#x}")

    def __getitem__(self, name: str) -> Register:
        return self._by_name[name]

    def __iter__(self) -> Iterator[Register]:
        return iter(self.registers)

    def at(self, address: int) -> Register | None:
        """The register that the word at `address` belongs to."""
        return self._by_word.get(address)

    def name_of(self, address: int) -> str:
        """For people: `MEMBER_IP[2]`, or the bare address where nothing is."""
        register = self.at(address)
        if register is None:
            return f"{address:#07x}"
        if register.count == 1:
            return register.name
        return f"{register.name}[{(address - register.address) * 8 // register.width}]"

    def reset_words(self) -> dict[int, int]:
        """What every word holds after power-on, by address."""
        words: dict[int, int] = {}
        for register in self.registers:
            for word in range(register.address, register.end, WORD):
                shift = (word - register.address) * 8 % register.width
                words[word] = register.reset >> shift & _MASK
        return words


def table(prefix: str, records: int, stride: int, fields: Sequence[Register]) -> Iterator[Register]:
    """The registers of a table of records, each `stride` bytes behind the one before: `RING3_` + name, ..."""
    for number in range(records):
        for register in fields:
            yield register.moved(f"{prefix}{number}_", number * stride)


def check_of(words: Iterable[tuple[int, int]], before: int = 0) -> int:
    """CRC-32 (that of Ethernet) over (address, word) pairs, 4 bytes each, little-endian; `before`: what came ahead of
    them."""
    data = b"".join(address.to_bytes(4, "little") + word.to_bytes(4, "little") for address, word in _pairs(words))
    return zlib.crc32(data, before)


def _pairs(words: Iterable[tuple[int, int]] | Mapping[int, int]) -> Iterable[tuple[int, int]]:
    return words.items() if isinstance(words, Mapping) else words


def doubled(value: int) -> int:
    """A value of 16 bits that carries its own check: its complement in the upper half."""
    number = int(value)  # the complement of an IntFlag has its own bits only
    return number | (~number & 0xFFFF) << 16


def doubled_value(word: int) -> int | None:
    """The value of `doubled`; None when the halves do not fit each other."""
    return word & 0xFFFF if word == doubled(word & 0xFFFF) else None
