r"""Safe text for terminals and files that people open, from any text. Some characters would move a cursor, hide or
reorder the text around them, or have no place in UTF-8. They become `\u001b`. JSON and YAML read that back as the same
character."""

from __future__ import annotations

import codecs
import re

__all__ = ["ESCAPED", "visible"]

ESCAPED = "ina-escaped"
"""an error handler of codecs: what an encoding lacks is escaped"""

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters other than tabs and ends of lines
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"  # direction of text; breaks of lines
    "\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff"  # halves of pairs, no characters
    "\U000e0001-\U000e007f]|\r(?!\n)"  # tags; a line that overwrites itself
)


def visible(text: str) -> str:
    """The text with what cannot be seen escaped; line feeds and tabs stay."""
    return _HIDDEN.sub(lambda found: _escape(found[0]), text)


def _escape(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _escape(error.object[error.start : error.end]), error.end


codecs.register_error(ESCAPED, _replace)
