"""Names that a figure shows."""

from __future__ import annotations

import pytest

from testbed.scenario.protocols.known import protocols
from testbed.sweeps.plots.names import title_of_protocol


@pytest.mark.parametrize(
    ("value", "title"), [("netreduce", "NetReduce"), ("atp", "ATP"), ("mine.py:MINE", "mine.py:MINE"), ("", "")]
)
def test_a_legend_names_protocols_as_papers_do(value: str, title: str) -> None:
    assert title_of_protocol(value) == title


def test_every_protocol_has_a_title_of_its_own() -> None:
    titles = [protocol.title for protocol in protocols()]
    assert "" not in titles
    assert len(set(titles)) == len(titles)
