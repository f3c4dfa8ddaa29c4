"""The page of coverage is made of the file that guided hunts wrote."""

from __future__ import annotations

import json

from testbed.hunt.behaviour import SOMETIMES, meanings_of_kind
from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.hunt.protocols import PROTOCOLS
from testbed.hunt.transitions import steps_of_kind
from testbed.manual import coverage


def test_every_kind_of_hunt_is_there_with_its_steps_and_marks() -> None:
    found = coverage.hunted()
    assert set(found) == {RACK, FABRIC, *PROTOCOLS}, "python -m benchmarks.hunt_coverage writes it"
    for kind, data in found.items():
        held, impossible = steps_of_kind(kind)
        assert data["transitions"]["held"] == len(held), kind
        assert data["transitions"]["impossible"] == dict(sorted(impossible.items())), kind
        assert set(data["guided"]["sometimes"]) == set(meanings_of_kind(kind)), kind


def test_the_page_names_what_was_never_taken_and_why_the_rest_cannot_be() -> None:
    page = coverage.all_coverage()
    for data in coverage.hunted().values():
        steps = data["transitions"]
        assert all(f"`{step}`" in page for step in (*steps["never"], *steps["impossible"]))
        assert all(why in page for why in steps["impossible"].values())


def test_a_protocol_that_is_not_installed_is_left_out(monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    data = json.loads(coverage.DATA.read_text(encoding="utf-8"))
    monkeypatch.setattr(coverage, "DATA", tmp_path / "coverage.json")
    coverage.DATA.write_text(json.dumps({"gone": data[RACK], RACK: data[RACK]}))
    assert list(coverage.hunted()) == [RACK]


def test_a_mark_that_no_schedule_reached_is_never(monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    data = json.loads(coverage.DATA.read_text(encoding="utf-8"))
    marks = dict.fromkeys(meanings_of_kind("atp"), 0) | {"hit after the end": 3}
    data = {"atp": data["atp"] | {"guided": data["atp"]["guided"] | {"sometimes": marks}}}
    monkeypatch.setattr(coverage, "DATA", tmp_path / "coverage.json")
    coverage.DATA.write_text(json.dumps(data))
    page = coverage.all_coverage()
    assert f"| hit after the end | {SOMETIMES['hit after the end']} | 3 |" in page
    assert page.count("| never |") == len(marks) - 1
