"""Keys of scenario files, from the sections that declare them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from switch_nodes.jobs import AggregatorKnobs
from testbed.faults.base import LinkFault, Match
from testbed.faults.forge import FORGERIES
from testbed.faults.kinds import FAULT_KINDS
from testbed.manual.tables import table
from testbed.protocols import names
from testbed.reading.documentation import key_rows
from testbed.reading.sections import KeyOf, keys_of
from testbed.scenario.keys.background import BackgroundFlow
from testbed.scenario.keys.beside import Beside
from testbed.scenario.keys.clocks import Clocks
from testbed.scenario.keys.job import Compute, Job, JobEntry, Straggler
from testbed.scenario.keys.pfc import Pfc, PfcWatchdog
from testbed.scenario.keys.routing import Routing
from testbed.scenario.keys.stages import StagesKeys
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.topology_keys import Custom, CustomNode
from testbed.scenario.keys.topology_kinds import TOPOLOGY_KINDS
from testbed.scenario.keys.transport import DcqcnOptions, Transport
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of
from topologies import LinkShape
from workloads.models.layers import Layer

__all__ = ["TABLES", "key_table"]

_PAGES = Path(__file__).resolve().parents[2] / "docs"
_KINDS = {"array": "a list", "object": "a mapping", "string": "text", "integer": "a whole number", "number": "a number"}
_OF_ALL_FAULTS = {"`name`", "`from`", "`until`", "`links`", "`direction`"}
_HEAD = ("key", "default", "values", "meaning")


def key_table(section: type) -> str:
    return table(_HEAD, _rows(section))


def _rows(section: type) -> list[tuple[str, str, str, str]]:
    return [(*row[:2], values_of(key), row[2]) for key, row in zip(_flat(section), key_rows(section), strict=True)]


def _flat(section: type) -> Iterator[KeyOf]:
    for key in keys_of(section):
        if key.flat:
            yield from _flat(key.type.sections()[0])
        else:
            yield key


def values_of(key: KeyOf) -> str:
    """What a file may hold, in the words of the check that refuses other values."""
    return key.type.allowed or _words(key.type.schema(lambda *section: {}))


def _words(schema: Mapping[str, Any]) -> str:
    """Of a value without such a check. A section has an empty schema here: its keys have a table of their own."""
    if "anyOf" in schema:
        return ", or ".join(dict.fromkeys(map(_words, schema["anyOf"])))
    if "enum" in schema or "const" in schema:
        return ", ".join(map(str, schema.get("enum", [schema.get("const")])))
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    if low is not None or high is not None:
        kind = "a whole number" if schema["type"] == "integer" else "a number"
        return kind + (f" from {low}" if low is not None else "") + (f" to {high}" if high is not None else "")
    return str(schema.get("description") or _KINDS.get(schema.get("type", ""), "keys"))


def _entry() -> str:
    """The keys that an entry of `jobs` has, and `job` has not."""
    common = set(_rows(Job))
    return table(_HEAD, [row for row in _rows(JobEntry) if row not in common])


def _own_keys() -> str:
    """Keys of `job` that one protocol alone has."""
    own = ((name, protocol_of(name).job_keys) for name in names())
    return "\n".join(f"### Keys of `job` for {name}\n\n{key_table(keys)}" for name, keys in own if keys is not None)


def _faults() -> str:
    """Each kind with all of its keys but those that every fault has."""
    parts = []
    for word, kind in FAULT_KINDS.items():
        rows = [row for row in _rows(kind.value) if row[0] not in _OF_ALL_FAULTS]
        healing = f"\n\nAt the end of its window: {kind.healing}." if kind.healing else ""
        text = kind.page or kind.meaning
        parts.append(f"### {word}\n\n{text[:1].upper()}{text[1:]}.{healing}\n\n{table(_HEAD, rows) if rows else ''}")
    return "\n".join(parts)


def _forgeries() -> str:
    return table(("word", "the forged frame"), [(f"`{word}`", item.meaning) for word, item in FORGERIES.items()])


def _protocols() -> str:
    def name(word: str) -> str:
        page = word.replace("_", "-") + ".md"
        return f"[`{word}`]({page})" if (_PAGES / page).is_file() else f"`{word}`"

    return table(("protocol", "what it does"), [(name(word), protocol_of(word).summary) for word in names()])


def _topologies() -> str:
    common = {"`link`", "`links`"}
    rows = [
        (f"`{word}`", kind.meaning, ", ".join(key for key, _, _ in key_rows(kind.keys) if key not in common))
        for word, kind in TOPOLOGY_KINDS.items()
    ]
    return table(("`kind` (required)", "network", "keys of its own"), rows)


def _topology_keys() -> str:
    """Of all kinds but custom, each key once."""
    rows: dict[str, tuple[str, ...]] = {}
    for kind in TOPOLOGY_KINDS.values():
        if kind.keys is not Custom:
            for row in _rows(kind.keys):
                rows.setdefault(row[0], row)
    return table(_HEAD, rows.values())


def _custom() -> str:
    def inside(section: type) -> str:
        return "; ".join(f"{key}: {doc}" for key, _, doc in key_rows(section) if doc)

    return table(
        ("key", "meaning"),
        [
            ("`nodes`", f"a list. {inside(CustomNode)}"),
            (
                "`links`",
                (
                    "a list. `ends`: two nodes; and every key of `link` that is different on it. The link's name is "
                    "`END-END`, the host first"
                ),
            ),
        ],
    )


_SECTIONS = (
    Scenario, Job, JobEntry, LinkShape, SwitchOptions, AggregatorKnobs, Transport, DcqcnOptions, Routing, Pfc,
    PfcWatchdog, Clocks, BackgroundFlow, LinkFault, Match, Beside, Compute, Straggler, Layer, StagesKeys,
)  # fmt: skip
TABLES: dict[str, Callable[[], str]] = {
    **{f"keys of {section.__name__}": partial(key_table, section) for section in _SECTIONS},
    "keys of JobEntry": _entry,
    "keys of topology": _topology_keys,
    "keys of custom": _custom,
    "keys of single protocols": _own_keys,
    "protocols": _protocols,
    "faults": _faults,
    "forgeries": _forgeries,
    "topologies": _topologies,
}
"""Tables by the name in the marker of a page."""
