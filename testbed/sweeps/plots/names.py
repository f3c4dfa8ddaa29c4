"""Names and units of what is varied and of what is measured, from where each is declared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from testbed.comparison.known_figures import title_of
from testbed.comparison.units import unit_of
from testbed.faults.kinds import FAULT_KINDS
from testbed.reading.quantities import ProbabilityKey
from testbed.reading.sections import KeyOf, keys_of
from testbed.reading.yamlfile import parse_yaml
from testbed.scenario.keys.topology_kinds import TOPOLOGY_KINDS
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.named import protocol_names
from testbed.terminal.numbers import scale_of

__all__ = ["PROTOCOL_KEYS", "Quantity", "figure_quantity", "key_quantity", "scaled", "title_of_protocol"]

PROTOCOL_KEYS = ("protocol", "job.protocol")
"""what is varied with names of protocols as values"""

_SHARE = get_args(ProbabilityKey)[1]
_BY_SUFFIX = {"_bps": ("bit/s", 1.0), "_ns": ("s", 1e-9), "_bytes": ("B", 1.0), "_packets": ("packets", 1.0)}
"""ending of a field -> (unit, what a number of the scenario is multiplied with)"""
_PREFIXED = ("s", "bit/s", "B")
_WITH_UNIT = re.compile(r"(.*) \(([^()]+)\)\Z")
_MOST_TEXTS = 40


@dataclass(frozen=True, slots=True)
class Quantity:
    """What an axis shows. Its values are numbers of the program times `factor`."""

    name: str
    unit: str = ""
    factor: float = 1.0

    @property
    def label(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


def figure_quantity(figure: str) -> Quantity:
    found = _WITH_UNIT.match(title_of(figure))
    if found is None:
        return Quantity(title_of(figure), unit_of(figure))
    return Quantity(found[1], found[2], 100.0 if found[2] == "%" else 1.0)


def key_quantity(key: str, texts: Iterable[str]) -> Quantity:
    """Of a dimension: a key of a scenario, `protocol`, `variant`, `world`. `texts`: scenarios of the sweep; the first
    one that has the key says what it is."""
    for text in list(dict.fromkeys(texts))[:_MOST_TEXTS]:
        found = _declared(key, text)
        if found is not None:
            return _of_key(*found)
    if key == "variant":  # no word for a reader
        return Quantity("")
    return Quantity(_words(key.split(".")[-2:]) if "." in key else _words([key]))


def title_of_protocol(value: object) -> str:
    """As its legend names it."""
    name = str(value)
    return (protocol_of(name).title if name in protocol_names() else "") or name


def scaled(quantity: Quantity, values: Iterable[float]) -> Quantity:
    """With the prefix of the unit that suits the middle of the values: `ms`, `Mbit/s`. `values`: of the program."""
    sizes = [abs(value * quantity.factor) for value in values if value]
    if quantity.unit not in _PREFIXED or not sizes:
        return quantity
    step, unit = scale_of(math.sqrt(min(sizes)) * math.sqrt(max(sizes)), quantity.unit)
    return Quantity(quantity.name, unit, quantity.factor / step)


def _of_key(section: str, key: KeyOf) -> Quantity:
    title = key.title or _words([section, key.name])
    found = _WITH_UNIT.match(title)
    if found is not None:
        return Quantity(found[1], found[2])
    if key.type is _SHARE:
        return Quantity(title, "%", 100.0)
    unit, factor = next((item for suffix, item in _BY_SUFFIX.items() if key.field.endswith(suffix)), ("", 1.0))
    return Quantity(title, unit, factor)


def _words(parts: Iterable[str]) -> str:
    text = " ".join(part for part in parts if part).replace("_", " ")
    return text[:1].upper() + text[1:]


@cache
def _declared(key: str, text: str) -> tuple[str, KeyOf] | None:
    """(name of the section, empty where it adds nothing; the key)"""
    data, _ = parse_yaml(text, "the point")
    sections: list[type] = [Scenario]
    parts, parent = re.findall(r"[^.\[\]]+", key), ""
    for depth, part in enumerate(parts):
        entry = data[int(part)] if isinstance(data, list) and part.isdigit() and int(part) < len(data) else None
        if isinstance(data, list) and entry is None:
            entry = next((item for item in data if isinstance(item, Mapping) and item.get("name") == part), None)
        if isinstance(data, list) and entry is None:
            return None
        if isinstance(data, list):
            data = entry
            if depth == 1 and parts[0] == "faults" and isinstance(entry, Mapping):
                sections, parent = [FAULT_KINDS[entry["kind"]].value], str(entry["kind"])
            continue
        found = next((each for section in sections for each in _flat(section) if each.name == part), None)
        data = data.get(part) if isinstance(data, Mapping) else None
        if found is None:
            return None
        if depth == len(parts) - 1:
            return parent, found
        sections, parent = _inner(part, found, data), "" if depth == 0 and part in ("topology", "job") else part
    return None


def _inner(part: str, key: KeyOf, data: Any) -> list[type]:
    word = str(data.get("kind" if part == "topology" else "protocol", "")) if isinstance(data, Mapping) else ""
    if part == "topology" and word in TOPOLOGY_KINDS:
        return [TOPOLOGY_KINDS[word].keys]
    own = protocol_of(word).job_keys if part == "job" and word else None
    return [*key.type.sections(), *([own] if own is not None else [])]


def _flat(section: type) -> Iterator[KeyOf]:
    for key in keys_of(section):
        if key.flat:
            yield from _flat(key.type.sections()[0])
        else:
            yield key
