"""Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["code", "table"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "".join(f"{line}\n" for line in lines)


def code(text: object) -> str:
    """In code font; empty for an empty text."""
    return f"`{text}`" if str(text) else ""


def _cell(text: str) -> str:
    """On one line; no border inside, and no tag outside code."""
    parts = re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split())).split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)
