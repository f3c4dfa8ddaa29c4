"""The diagrams in the documentation are those of the tables."""

from pathlib import Path

import pytest

from switch_nodes.netreduce.tables import CONNECTION_TABLE, LEAF_SLOT_TABLE, SLOT_TABLE

DOCS = Path(__file__).resolve().parents[3] / "docs" / "netreduce.md"


@pytest.mark.parametrize("table", [SLOT_TABLE, LEAF_SLOT_TABLE, CONNECTION_TABLE], ids=lambda table: table.name)
def test_documentation_shows_the_table(table) -> None:  # type: ignore[no-untyped-def]
    assert f"```mermaid\n{table.diagram()}```\n" in DOCS.read_text(encoding="utf-8")


def test_diagrams_begin_in_the_first_state() -> None:
    assert SLOT_TABLE.diagram().splitlines()[1] == "    [*] --> EMPTY"
    assert CONNECTION_TABLE.diagram().splitlines()[1] == "    [*] --> UNKNOWN"
    assert "    OPEN --> DONE: COMPLETING / STORE_AND_COMPLETE\n" in SLOT_TABLE.diagram()
