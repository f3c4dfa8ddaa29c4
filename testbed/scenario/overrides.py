"""`--set key.path=value`: changes to the data of a scenario before it is checked."""

from __future__ import annotations

import re
from typing import Any

from testbed.reading.problems import KeyPath, Place, format_path, show
from testbed.reading.yamlfile import parse_yaml
from workloads.errors import ScenarioError

__all__ = ["SET_FILE", "apply_override"]

SET_FILE = "--set"
_PART = re.compile(r"([A-Za-z0-9_-]+)((?:\[[0-9]{1,4}\])*)\Z")
_FORM = "key=value, as transport.verb=send or faults[0].rate=2%"


def _path(text: str) -> KeyPath:
    parts: list[str | int] = []
    for word in text.split("."):
        found = _PART.match(word)
        if found is None:
            raise ScenarioError("not a key", file=SET_FILE, found=show(text), allowed=_FORM)
        parts.append(int(found[1]) if parts and found[1].isdigit() else found[1])
        parts += [int(index) for index in re.findall(r"[0-9]+", found[2])]
    return tuple(parts)


def apply_override(data: Any, places: dict[KeyPath, Place], override: str) -> None:
    """Change `data` and `places` in place. A list is addressed by position, or a fault by its name
    (`faults.flap.until=2s`). Raises ScenarioError when the override is not of that form or leads nowhere."""
    key, equals, text = override.partition("=")
    if not equals:
        raise ScenarioError("not of the form key=value", file=SET_FILE, found=show(override), allowed=_FORM)
    path = _path(key.strip())
    value, _ = parse_yaml(text.strip(), SET_FILE)
    place, here = data, list[str | int]()
    for depth, part in enumerate(path):
        part = _index(place, tuple(here), part)
        here.append(part)
        if depth == len(path) - 1:
            place[part] = value
        else:
            if isinstance(part, str) and place.get(part) is None:
                place[part] = {}
            place = place[part]
    final = tuple(here)
    for old in [old for old in places if old[: len(final)] == final]:
        del places[old]
    places[final] = Place(SET_FILE)


def _index(place: Any, here: KeyPath, part: str | int) -> str | int:
    """`part` as an index into `place`."""
    if isinstance(place, dict):
        return str(part)
    if isinstance(place, list):
        named = [n for n, item in enumerate(place) if isinstance(item, dict) and item.get("name") == part]
        if isinstance(part, str) and named:
            return named[0]
        if isinstance(part, int) and part < len(place):
            return part
        names = [str(item["name"]) for item in place if isinstance(item, dict) and "name" in item]
        numbers = f"0 to {len(place) - 1}" if len(place) > 1 else "0"
        allowed = ", ".join([numbers, *names]) if place else "nothing: the list is empty"
        raise ScenarioError("no such entry", file=SET_FILE, key=format_path(here), found=show(part), allowed=allowed)
    raise ScenarioError(
        "is a value and has no keys", file=SET_FILE, key=format_path(here), found=f"{show(part)} below {show(place)}",
        allowed=f"{format_path(here)}=VALUE",
    )  # fmt: skip
