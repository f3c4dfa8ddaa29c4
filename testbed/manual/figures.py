"""Figures of result.json, from its schema; and checks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import testbed.report
from testbed.checkers import checkers
from testbed.checkers.of_protocol import checkers_of
from testbed.manual.tables import code, table
from testbed.protocols import names

__all__ = ["all_checks", "all_figures"]

_SCHEMA = Path(testbed.report.__file__).with_name("result.schema.json")
_UNITS = {"_s": "s", "_bps": "bit/s", "_bytes": "bytes", "_ns": "ns"}


def all_figures() -> str:
    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    rows = _rows("", schema["properties"]["metrics"], schema["$defs"])
    return table(("figure", "type", "unit", "meaning"), rows)


def all_checks() -> str:
    rows = [(code(check.name), "every run that it applies to", check.proves) for check in checkers()]
    own: dict[tuple[str, str], list[str]] = {}
    for name in names():
        for check in checkers_of(name):
            own.setdefault((check.name, check.proves), []).append(code(name))
    rows += [(code(name), ", ".join(users), proves) for (name, proves), users in own.items()]
    return table(("check", "runs of", "proves"), rows)


def _rows(path: str, node: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for name, given in node["properties"].items():
        found = _resolved(given, known)
        place = f"{path}{name}"
        yield code(place), _type(found), _unit(name), found.get("description", "")
        inner = _resolved(found.get("items", {}), known)
        more = found.get("additionalProperties")
        named = _resolved(more, known) if isinstance(more, Mapping) else {}
        if "properties" in found:
            yield from _rows(f"{place}.", found, known)
        elif "properties" in inner:
            yield from _rows(f"{place}[].", inner, known)
        elif "properties" in named:
            yield from _rows(f"{place}.NAME.", named, known)


def _resolved(node: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    """With what a `$ref` names; descriptions of the reference come first."""
    if "$ref" not in node:
        return node
    return {**_resolved(known[node["$ref"].rpartition("/")[2]], known), **node}


def _type(node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return ", ".join(code(word) for word in node["enum"])
    found = node.get("type", "")
    return " or ".join([found] if isinstance(found, str) else found)


def _unit(name: str) -> str:
    return next((unit for suffix, unit in _UNITS.items() if name.endswith(suffix)), "")
