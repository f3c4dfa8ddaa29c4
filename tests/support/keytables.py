"""The tables of keys in the documentation are made from the sections: `python -m tests.support.keytables` writes them anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from testbed.reading.documentation import key_rows
from testbed.scenario.background import BackgroundFlow
from testbed.scenario.clocks import Clocks
from testbed.scenario.routing import Routing
from testbed.scenario.switch import SwitchOptions
from testbed.scenario.transport import Transport
from topologies import LinkShape

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scenario.md"
_TABLE = re.compile(r"(<!-- (keys of|list of) (\w+) -->\n)(.*?)(<!-- end of keys -->\n)", re.DOTALL)


def _keys(section: type) -> Callable[[], str]:
    def table() -> str:
        return _table(("key", "default", "meaning"), key_rows(section))

    return table


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return (
        "".join("| " + " | ".join(line) + " |\n" for line in lines).replace("| --- ", "|---").replace("--- |", "---|")
    )


TABLES: dict[str, Callable[[], str]] = {
    section.__name__: _keys(section)
    for section in (LinkShape, SwitchOptions, Transport, Routing, Clocks, BackgroundFlow)
}
"""by the name that stands in the page"""


def with_tables(page: str) -> str:
    """The page, with its tables as they are made. Raises KeyError for a table that nobody makes."""
    return _TABLE.sub(lambda found: found[1] + TABLES[found[3]]() + found[5], page)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
