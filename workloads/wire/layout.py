"""Header layouts as data, and the codec that is driven by them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from workloads.machine import Buffer

__all__ = ["Field", "Layout", "WireError"]


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

    def packer(self) -> struct.Struct:
        """The same bytes for values that are known to fit, in one step. Raises ValueError where a field is not a whole
        number of 1, 2, 4 or 8 bytes."""
        letters = {8: "B", 16: "H", 32: "I", 64: "Q"}
        if odd := [field.name for field in self.fields if field.bits not in letters]:
            raise ValueError(f"{self.name}: {', '.join(odd)} are not 8, 16, 32 or 64 bits wide")
        return struct.Struct("!" + "".join(letters[field.bits] for field in self.fields))

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
