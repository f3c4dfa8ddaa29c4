"""Lines of styled text, and words for amounts."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Line", "amount", "bits_per_second", "byte_size"]


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    style: str = ""
    """title, head, pass, fail, unknown, skipped, dim or nothing"""
    indent: int = 0
    label: str = ""
    """stands before the text, in the style; the text then goes on behind `label_width`"""
    label_width: int = 0


def amount(count: int, noun: str, plural: str = "") -> str:
    """`1 packet`, `2 packets`, `12,345 packets`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def bits_per_second(rate: float) -> str:
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if rate >= size:
            return f"{rate / size:.1f} {unit}"
    return f"{rate:.0f} bit/s"


def byte_size(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.2f} {unit}"
    return amount(size, "byte")
