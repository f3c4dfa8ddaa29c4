"""The tables of keys in the documentation are made from the sections: `python -m tests.support.keytables` writes them
anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from testbed.faults.base import Fault, LinkFault, Match, NodeFault, PacketFault
from testbed.faults.forge import FORGERIES
from testbed.faults.kinds import FAULT_KINDS
from testbed.protocols import names
from testbed.reading.documentation import key_rows
from testbed.scenario.background import BackgroundFlow
from testbed.scenario.beside import Beside
from testbed.scenario.clocks import Clocks
from testbed.scenario.job import Job, JobEntry
from testbed.scenario.known import protocol_of
from testbed.scenario.model import Scenario
from testbed.scenario.routing import Routing
from testbed.scenario.switch import SwitchOptions
from testbed.scenario.topology_keys import Custom, CustomNode
from testbed.scenario.topology_kinds import TOPOLOGY_KINDS
from testbed.scenario.transport import Transport
from topologies import LinkShape

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scenario.md"
_TABLE = re.compile(r"(<!-- (keys of|list of) (\w+) -->\n)(.*?)(<!-- end of keys -->\n)", re.DOTALL)


def _keys(section: type) -> Callable[[], str]:
    def table() -> str:
        return _table(("key", "default", "meaning"), key_rows(section))

    return table


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "".join(line.replace("|  |", "| |").replace("|  |", "| |") + "\n" for line in lines)


def _entry() -> str:
    """The keys that an entry of `jobs` has, and `job` has not."""
    common = set(key_rows(Job))
    return _table(("key", "default", "meaning"), [row for row in key_rows(JobEntry) if row not in common])


def _own_keys(section: type) -> str:
    """Those that faults of other kinds do not have, with their defaults; and which of the common ones it has not."""
    common = {row[0]: row for row in key_rows(PacketFault)}
    base = LinkFault if issubclass(section, LinkFault) and not issubclass(section, PacketFault) else PacketFault
    known = {key for key, _, _ in key_rows(Fault if issubclass(section, NodeFault) else base)}
    rows = [row for row in key_rows(section) if row[0] not in known and row[0] not in ("`from`", "`until`")]
    lacks = [
        key for key in ("`links`", "`rate`", "`match`") if key in common.keys() - {row[0] for row in key_rows(section)}
    ]
    texts = [f"{key} ({default}): {doc}" for key, default, doc in rows]
    return "; ".join([*texts, f"no {', '.join(lacks)}"] if lacks else texts)


def _faults() -> str:
    rows = [(f"`{word}`", kind.page or kind.meaning, _own_keys(kind.value)) for word, kind in FAULT_KINDS.items()]
    return _table(("kind", "what happens", "keys of its own"), rows)


def _forgeries() -> str:
    return _table(("word", "the forged frame"), [(f"`{word}`", item.meaning) for word, item in FORGERIES.items()])


def _collectives() -> str:
    def name(word: str) -> str:
        page = word.replace("_", "-") + ".md"
        return f"[`{word}`]({page})" if (PAGE.parent / page).is_file() else f"`{word}`"

    return _table(("collective", "what it does"), [(name(word), protocol_of(word).summary) for word in names()])


def _topologies() -> str:
    common = {"`link`", "`links`"}
    rows = [
        (f"`{word}`", kind.meaning, ", ".join(key for key, _, _ in key_rows(kind.keys) if key not in common))
        for word, kind in TOPOLOGY_KINDS.items()
    ]
    return _table(("`kind` (required)", "network", "keys of its own"), rows)


def _topology_keys() -> str:
    """Of all kinds but custom, each key once."""
    rows: dict[str, tuple[str, ...]] = {}
    for kind in TOPOLOGY_KINDS.values():
        if kind.keys is not Custom:
            for row in key_rows(kind.keys):
                rows.setdefault(row[0], row)
    return _table(("key", "default", "meaning"), list(rows.values()))


def _custom() -> str:
    def inside(section: type) -> str:
        return "; ".join(f"{key}: {doc}" for key, _, doc in key_rows(section) if doc)

    return _table(
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


TABLES: dict[str, Callable[[], str]] = {
    **{
        section.__name__: _keys(section)
        for section in (
            Scenario,
            Job,
            LinkShape,
            SwitchOptions,
            Transport,
            Routing,
            Clocks,
            BackgroundFlow,
            PacketFault,
        )
    },
    "Match": lambda: _table(("key", "meaning"), [(key, doc) for key, _, doc in key_rows(Match)]),
    "Beside": _keys(Beside),
    "JobEntry": _entry,
    "collectives": _collectives,
    "faults": _faults,
    "forgeries": _forgeries,
    "topologies": _topologies,
    "topology": _topology_keys,
    "custom": _custom,
}
"""by the name that stands in the page"""


def with_tables(page: str) -> str:
    """The page, with its tables as they are made. Raises KeyError for a table that nobody makes."""
    return _TABLE.sub(lambda found: found[1] + TABLES[found[3]]() + found[5], page)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
