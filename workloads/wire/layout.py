"""Header layouts as data, and the codec that is driven by them."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from workloads.machine import Buffer

__all__ = ["Field", "Layout", "WireError", "packer_of"]

_LETTERS = {8: "B", 16: "H", 32: "I", 64: "Q"}


class WireError(ValueError):
    """Bytes that are not a well-formed packet. Machines catch it, count it and drop the frame."""


@dataclass(frozen=True, slots=True)
class Field:
    """`bits` wide, most significant bit first, network byte order."""

    name: str
    bits: int
    meaning: str


class Layout:
    """A fixed-size header: fields side by side, without gaps, a whole number of bytes.

    The only declaration of a header: its codec, the Wireshark dissector, tables of documents and the constants of C and
    eBPF are made from it (`python -m tests.support.layouts`). `source`: where name, order and width of the fields come
    from."""

    def __init__(self, name: str, *fields: Field, source: str = "decided here") -> None:
        bits = sum(field.bits for field in fields)
        if bits % 8:
            raise ValueError(f"{name}: {bits} bits are not a whole number of bytes")
        self.name, self.fields, self.size, self.source = name, fields, bits // 8, source
        self._spans: list[tuple[str, int, int]] = []
        shift = bits
        for field in fields:
            shift -= field.bits
            self._spans.append((field.name, shift, (1 << field.bits) - 1))

    def place(self, name: str) -> tuple[int, int]:
        """How far the field is shifted to the left in the header as one big-endian number, and its largest value."""
        return next((shift, mask) for found, shift, mask in self._spans if found == name)

    def width(self, name: str) -> int:
        """Bits of a field."""
        return self.place(name)[1].bit_length()

    def octets(self, name: str) -> tuple[int, int, int]:
        """First and last octet of the header in which a field lies, and its lowest bit, counted from the lowest one of
        the last octet."""
        shift, mask = self.place(name)
        bits = 8 * self.size
        return (bits - shift - mask.bit_length()) // 8, (bits - shift - 1) // 8, shift % 8

    def span(self, name: str, at: int = 0) -> slice:
        """The octets in which the field lies; `at`: where the header begins."""
        first, last, _ = self.octets(name)
        return slice(at + first, at + last + 1)

    def packer(self) -> struct.Struct:
        """The same bytes for values that are known to fit, in one step. Raises ValueError where a field is not a whole
        number of 1, 2, 4 or 8 bytes."""
        return packer_of(self.words())

    def words(
        self,
        *joined: tuple[str, str],
        octets: Collection[str] = (),
        signed: Collection[str] = (),
        only: Collection[str] | None = None,
    ) -> str:
        """A part of a `struct` format: a number for each field. `joined`: first and last of neighbours that are one
        number together, by the name of the first. `octets`: fields that are bytes. `signed`: numbers with a sign.
        `only`: what to read; the rest is skipped. Raises ValueError where a number is not of 1, 2, 4 or 8 bytes."""
        found, odd = [], []
        for name, bits in self._joined(dict(joined)):
            if only is not None and name not in only:
                found.append(f"{bits // 8}x")
            elif name in octets:
                found.append(f"{bits // 8}s")
            elif bits in _LETTERS:
                found.append(_LETTERS[bits].lower() if name in signed else _LETTERS[bits])
            else:
                odd.append(name)
        if odd:
            raise ValueError(f"{self.name}: {', '.join(odd)} are not 8, 16, 32 or 64 bits wide")
        return "".join(found)

    def _joined(self, last_of: dict[str, str]) -> Iterator[tuple[str, int]]:
        fields = iter(self.fields)
        for field in fields:
            last, bits = field.name, field.bits
            while last != last_of.get(field.name, field.name):
                following = next(fields)
                last, bits = following.name, bits + following.bits
            yield field.name, bits

    def unpack(self, data: Buffer, offset: int = 0) -> dict[str, int]:
        """Field values by name. Raises WireError when the header does not fit."""
        end = offset + self.size
        if end > len(data):
            raise WireError(f"{self.name} is truncated: {max(0, len(data) - offset)} of {self.size} bytes")
        number = int.from_bytes(data[offset:end], "big")
        return {name: number >> shift & mask for name, shift, mask in self._spans}

    def pack(self, **values: int) -> bytes:
        """Bytes of the header. Raises WireError when a value does not fit its field, KeyError when one is missing."""
        number = 0
        for name, shift, mask in self._spans:
            value = values[name]
            if not 0 <= value <= mask:
                raise WireError(f"{self.name}.{name}: {value} does not fit {mask.bit_length()} bits")
            number |= value << shift
        return number.to_bytes(self.size, "big")


def packer_of(*words: str) -> struct.Struct:
    """A codec of headers that follow one another, each as `Layout.words` has it. It ends behind its last value."""
    return struct.Struct("!" + re.sub(r"(\d+x)+$", "", "".join(words)))
