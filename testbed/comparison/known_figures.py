"""Which names of figures there can be, by the schema of result.json, and what an axis of a plot calls them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

from testbed.reading.problems import closest
from testbed.report.document import result_schema

__all__ = ["figure_names", "title_of", "unknown_figure"]

_ANY = "NAME"
_NUMBERS = {"number", "integer"}
_TOLD_APART = {"name", "job", "number"}
"""keys of entries of lists that become part of the name (`testbed.comparison.figures`)"""


def figure_names() -> tuple[str, ...]:
    """All names; NAME stands for that of a worker, a link, a job, a reason."""
    return tuple(_titles())


def title_of(figure: str) -> str:
    """What the schema calls a figure: `Job completion time`. A title may end in a unit: `(%)`. A figure without a title
    has the words of its name, without the unit."""
    parts = figure.split(".")
    titles = _titles()
    title = titles.get(figure) or next(
        (title for known, title in titles.items() if title and _matches(parts, known.split("."))), ""
    )
    words = " ".join(parts).removesuffix("_s").removesuffix("_bps").removesuffix("_bytes").replace("_", " ")
    return title or words[:1].upper() + words[1:]


@cache
def _titles() -> Mapping[str, str]:
    """Name of each figure -> its title; empty: it has none."""
    schema = result_schema()
    found = {".".join(path): title for path, title in _walk(schema["properties"]["metrics"], schema["$defs"], ())}
    return found | {f"faults.{_ANY}.strikes": "Hits of the fault"}


def unknown_figure(name: str, faults: Collection[str] | None = None) -> tuple[str, str | None] | None:
    """(what is allowed, a hint) where no run can have a figure of this name. `faults`: names of those that runs can
    have; None: any."""
    names = figure_names()
    if any(_matches(name.split("."), known.split(".")) for known in names):
        fault = name.removeprefix("faults.").removesuffix(".strikes")
        if faults is None or not name.startswith("faults.") or fault in faults:
            return None
        allowed = ", ".join(f"faults.{each}.strikes" for each in faults) or "none: there are no faults"
        return allowed, closest(fault, faults)
    usual = [known for known in names if not known.startswith("unreliable.")]
    plain = [known for known in usual if _ANY not in known.split(".")]
    return f"{', '.join(plain)}; and those of workers, links, jobs and faults", closest(name, usual)


def _matches(parts: list[str], known: list[str]) -> bool:
    """A name may hold dots."""
    if not known or not parts:
        return parts == known
    if known[0] != _ANY:
        return parts[0] == known[0] and _matches(parts[1:], known[1:])
    return any(_matches(parts[taken:], known[1:]) for taken in range(1, len(parts) + 1))


def _walk(
    schema: Mapping[str, Any], defs: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path, title) of each number."""
    title = str(schema.get("title", ""))
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _walk(option, defs, path)
    types = schema.get("type", ())
    if _NUMBERS & {types, *types} if isinstance(types, str) else _NUMBERS & set(types):
        yield path, title
    for key, item in schema.get("properties", {}).items():
        yield from _walk(item, defs, (*path, key))
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        yield from _walk(more, defs, (*path, _ANY))
    entry = schema.get("items")
    if isinstance(entry, Mapping):
        for found, title in _walk(entry, defs, ()):
            if found and found[0] not in _TOLD_APART:
                yield (*path, _ANY, *found), title
