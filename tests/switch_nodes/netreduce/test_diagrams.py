"""The diagrams in the documentation are those of the tables."""

from pathlib import Path

import pytest

from switch_nodes.netreduce.diagrams import connection_diagram, leaf_slot_diagram, slot_diagram

DOCS = Path(__file__).resolve().parents[3] / "docs" / "netreduce.md"


@pytest.mark.parametrize(
    "diagram", [slot_diagram, leaf_slot_diagram, connection_diagram], ids=lambda diagram: diagram.__name__
)
def test_documentation_shows_the_table(diagram) -> None:  # type: ignore[no-untyped-def]
    assert f"```mermaid\n{diagram()}```\n" in DOCS.read_text(encoding="utf-8")


def test_diagrams_begin_in_the_first_state() -> None:
    assert slot_diagram().splitlines()[1] == "    [*] --> EMPTY"
    assert connection_diagram().splitlines()[1] == "    [*] --> UNKNOWN"
    assert "    OPEN --> DONE: COMPLETING / STORE_AND_COMPLETE\n" in slot_diagram()
