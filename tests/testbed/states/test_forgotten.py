"""States that differ only in what is forgotten take the same steps."""

from __future__ import annotations

from importlib import import_module

import pytest

from testbed.protocols import names
from testbed.states.contract import Explored
from testbed.states.forgotten import Forgotten
from tests.support.floors import ROOT
from tests.support.left_out import left_out
from tests.support.states_cases import interpreted

TABLES = [
    table
    for name in sorted({*names()} - left_out())
    if (ROOT / "testbed/protocols" / name / "states.py").exists()
    and isinstance(table := getattr(import_module(f"testbed.protocols.{name}.states"), "EXPLORED", None), Explored)
]


def test_what_is_forgotten_is_there() -> None:
    """A name that its class has no more would make each value of the new one a state, and a search endless."""
    assert len(TABLES) >= 3
    missing = []
    for kind, name in {at for table in TABLES for at in Forgotten(table).named}:
        files = (ROOT / f"{each.__module__.replace('.', '/')}.py" for each in kind.__mro__)
        texts = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
        if not any(f"self.{name}" in text or f"    {name}:" in text for text in texts):
            missing.append(f"{kind.__name__}.{name}")
    assert missing == []


@pytest.mark.parametrize(
    ("protocol", "size", "faults", "overrides"),
    [
        ("switchml", [2, 2, 3], 1, []),
        ("switchml", [2, 1, 3], 2, []),
        ("switchml", [2, 1, 2], 1, ["job.dtype=float32"]),
        ("netreduce", [2, 1, 2], 1, []),
        ("netreduce", [2, 1, 2], 0, ["transport.recovery=irn"]),
        ("atp", [2, 1, 2], 1, []),
        ("esa", [2, 1, 1], 0, []),
    ],
)
def test_equal_states_take_the_same_steps(protocol: str, size: list[int], faults: int, overrides: list[str]) -> None:
    found = interpreted("compared", protocol, size, faults, overrides)
    assert found["differences"] == []
    assert min(found["compared"].values()) > 5, found["compared"]
