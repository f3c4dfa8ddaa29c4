"""Sections -> JSON Schema (draft 2020-12), for editors that complete and check files."""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any

from testbed.reading.documentation import default_of, doc_of, plain_text
from testbed.reading.sections import keys_of

__all__ = ["json_schema"]


def json_schema(section: type, title: str) -> dict[str, Any]:
    """Of a file whose top level is `section`."""
    book = _Book()
    top = book.object_of(section)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **top,
        "$defs": dict(sorted(book.defs.items())),
    }


class _Book:
    def __init__(self) -> None:
        self.defs: dict[str, Any] = {}

    def refer(self, section: type, tag: str = "", word: str = "") -> dict[str, Any]:
        name = section.__name__
        if name not in self.defs:
            self.defs[name] = {}
            schema = self.object_of(section)
            if tag:
                schema["properties"] = {tag: {"const": word}} | schema["properties"]
                schema["required"] = [tag, *schema.get("required", ())]
            self.defs[name] = schema
        return {"$ref": f"#/$defs/{name}"}

    def object_of(self, section: type) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
        if section.__doc__ and not section.__doc__.startswith(f"{section.__name__}("):
            schema["description"] = plain_text(" ".join(section.__doc__.split()))
        required: list[str] = []
        self._add(section, (), schema["properties"], required)
        return schema | ({"required": required} if required else {})

    def _add(self, section: type, needs: tuple[str, ...], properties: dict[str, Any], required: list[str]) -> None:
        for key in keys_of(section):
            if key.flat:
                self._add(key.type.sections()[0], key.needs, properties, required)
                continue
            schema = dict(key.type.schema(self.refer))
            doc = plain_text(doc_of(section, key))
            if doc:
                schema["description"] = doc
            default = default_of(key)
            if (default is MISSING and not key.filled) or key.name in needs:
                required.append(key.name)
            elif default not in (None, MISSING) and not key.filled and not isinstance(default, dict | list):
                schema["default"] = default
            properties[key.name] = schema
