"""Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["code", "named_pages", "table"]

_PAGE = re.compile(r"(?<!\]\()\bdocs/([a-z-]+)\.md\b")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "".join(f"{line}\n" for line in lines)


def code(text: object) -> str:
    """In code font; empty for an empty text."""
    return f"`{text}`" if str(text) else ""


def named_pages(text: str) -> str:
    """Links to the pages that a text of the terminal names, as `docs/time.md`."""
    return ", ".join(f"[{name}]({name}.md)" for name in dict.fromkeys(_PAGE.findall(text)))


def _cell(text: str) -> str:
    """On one line; no border inside, no tag outside code, and pages as links."""
    parts = re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split())).split("`")
    parts[::2] = [_PAGE.sub(r"[\1](\1.md)", part.replace("<", "&lt;")) for part in parts[::2]]
    return "`".join(parts)
