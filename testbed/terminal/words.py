"""Amounts in words: one spelling of thousands and plurals. Quantities with units are in `numbers`."""

from __future__ import annotations

import re

__all__ = ["amount", "first_sentence", "times", "violations"]

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


def first_sentence(text: str) -> str:
    """Of a text that its author may have broken into lines."""
    return _END_OF_SENTENCE.split(" ".join(text.split()), maxsplit=1)[0]
