"""Lines of styled text."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Line"]


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    style: str = ""
    """title, head, pass, fail, unknown, skipped, dim or nothing"""
    indent: int = 0
    label: str = ""
    """stands before the text, in the style; the text then goes on behind `label_width`"""
    label_width: int = 0
