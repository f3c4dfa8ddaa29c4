"""The diagrams in the documentation are those of the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from workloads.rc.dcqcn_table import REACTION_TABLE
from workloads.rc.diagram import DIAGRAMS
from workloads.rc.requester_table import REQUESTER_TABLE
from workloads.rc.responder_table import RESPONDER_TABLE

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize("name", DIAGRAMS)
def test_the_documentation_shows_the_table(name: str) -> None:
    assert f"```mermaid\n{DIAGRAMS[name]}\n```" in "".join(
        (DOCS / page).read_text() for page in ("roce.md", "congestion.md")
    )


@pytest.mark.parametrize(
    ("name", "table"),
    [("requester", REQUESTER_TABLE), ("responder", RESPONDER_TABLE), ("reaction point", REACTION_TABLE)],
)
def test_every_entry_that_does_something_is_drawn(name: str, table: dict) -> None:  # type: ignore[type-arg]
    drawn = DIAGRAMS[name].count(" or ") + DIAGRAMS[name].count("-->")
    assert drawn == sum(step.state is not key[0] or bool(step.actions) for key, step in table.items())
