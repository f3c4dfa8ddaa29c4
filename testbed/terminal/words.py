"""Numbers and amounts as people read them: one spelling of thousands, plurals, rates and sizes, wherever something is
told."""

from __future__ import annotations

import re

__all__ = ["amount", "bits_per_second", "byte_size", "first_sentence", "times", "violations"]

_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9`\"])")


def amount(count: int, noun: str, plural: str = "") -> str:
    """`1 packet`, `2 packets`, `12,345 packets`. `plural`: where it is not the noun and an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def times(count: int) -> str:
    """`1x`, `12,345x`."""
    return f"{count:,}x"


def violations(found: list[str]) -> str:
    """`2 violations; first: ...`"""
    return f"{amount(len(found), 'violation')}; first: {found[0]}"


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


def first_sentence(text: str) -> str:
    """Of a text that its author may have broken into lines."""
    return _END_OF_SENTENCE.split(" ".join(text.split()), maxsplit=1)[0]
