"""The line of documentation of each key, which stands below its field, and tables of keys for the pages."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import MISSING
from functools import cache
from typing import Any

from testbed.reading.sections import ABSENT, NOT_GIVEN, KeyOf, keys_of

__all__ = ["default_of", "doc_of", "field_docs", "key_rows", "plain_text"]


@cache
def field_docs(section: type) -> dict[str, str]:
    """What stands below each field, of a class and those that it inherits from."""
    found: dict[str, str] = {}
    for cls in reversed(section.__mro__):
        if cls is object:
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        assert isinstance(tree, ast.ClassDef)
        for item, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and isinstance(below, ast.Expr):
                text = ast.literal_eval(below.value)
                found[item.target.id] = " ".join(text.split())
    return found


def doc_of(section: type, key: KeyOf) -> str:
    """Markdown, on one line: whose key it is, then what stands below the field, if anything does."""
    text = key.doc if key.doc is not None else field_docs(section).get(key.field, "")
    if key.only is None:
        return text
    return f"({key.only.shown or ', '.join(f'`{name}`' for name in key.only.names())}) {text}"


def plain_text(markdown: str) -> str:
    """Without links in brackets, addresses of other links, and marks of code."""
    text = re.sub(r" ?\(\[[^]]*\]\([^)]*\)\)", "", markdown)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "").strip()


def default_of(key: KeyOf) -> Any:
    """As a file would hold it; MISSING where a file must say it, None where there is none."""
    if key.default is MISSING:
        return MISSING
    if key.default is ABSENT:
        return None
    if key.default is None or key.default is NOT_GIVEN:
        return key.type.none if key.default is None else None
    return key.type.write(key.default)


def _default_text(key: KeyOf) -> str:
    if key.shown is not None:
        return key.shown
    default = default_of(key)
    if default is MISSING:
        return "required"
    if default is None or default == "":
        return "none" if default is None else "empty"
    if isinstance(default, dict | list):
        return ""
    text = str(default).lower() if isinstance(default, bool) else re.sub(r"\A0[a-zA-Z]+\Z", "0", str(default))
    return f"`{text}`"


def key_rows(section: type, leave_out: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    """(key, default, meaning) of each key, as Markdown."""
    rows: list[tuple[str, str, str]] = []
    for key in keys_of(section):
        if key.field in leave_out:
            continue
        if key.flat:
            rows += key_rows(key.type.sections()[0])
        else:
            rows.append((f"`{key.name}`", _default_text(key), doc_of(section, key)))
    return rows
