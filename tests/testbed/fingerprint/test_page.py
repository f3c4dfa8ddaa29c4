"""The table of docs/fingerprint.md, measured again."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from testbed.fingerprint.finding import Finding
from testbed.fingerprint.infer import fingerprint
from testbed.fingerprint.targets.named import TargetOptions, open_target
from testbed.fingerprint.trees import written
from tests.support.rtl import needs_simulation

PAGE = Path(__file__).resolve().parents[3] / "docs" / "fingerprint.md"
ELEMENTS = 4096


def rows() -> list[tuple[str, int, str, int, str]]:
    """(target, ranks, first chunk, chunks, accumulator)"""
    table = PAGE.read_text(encoding="utf-8").split("<!-- fingerprints: ")[1].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[3:]]
    return [
        (target, int(row[1]), row[2].strip("`"), int(row[3]), row[4])
        for row in cells
        for target in re.findall(r"`([^`]+)`", row[0])
    ]


def measured(target: str, ranks: int | None = None) -> Finding:
    with open_target(target, TargetOptions(ELEMENTS, 60.0, ranks=ranks)) as reducer:
        return fingerprint(reducer, target)


def compare(finding: Finding, row: tuple[str, int, str, int, str]) -> None:
    pieces = [] if finding.orders is None else finding.orders.pieces()
    first = written(pieces[0][2]) if pieces else "none"
    assert (finding.target, finding.ranks, first, len(pieces), finding.traits["accumulator"]) == row
    assert finding.is_known
    assert finding.predicted == ELEMENTS


@pytest.mark.parametrize("row", [row for row in rows() if ":" not in row[0]], ids=lambda row: row[0])
def test_a_reducer_of_this_project(row: tuple[str, int, str, int, str]) -> None:
    if row[0] == "rtl":
        needs_simulation()
    compare(measured(row[0]), row)


def test_gloo() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    row = next(row for row in rows() if row[0] == "torch:gloo")
    finding = measured("torch:gloo", row[1])
    compare(finding, row)
    assert finding.traits["order"] == "a ring: each of 3 chunks from a rank of its own, round the ring"


def test_our_backend() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    with open_target("torch:ina", TargetOptions(ELEMENTS, 60.0, overrides=("topology.hosts=2",))) as reducer:
        finding = fingerprint(reducer, "torch:ina")
    assert (finding.ranks, finding.predicted) == (2, ELEMENTS)
    assert finding.traits["NaN"] == "every NaN becomes 0x7fc00000"
