"""The list of scenarios through the hardware: what is omitted, what fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import card_scenarios
from benchmarks.card_scenarios import Case, Row, main, pressure_of


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Cases that were played; the card fails at `rack` with 512 bits."""
    cases: list[Case] = []

    def played(case: Case, config: object, inputs: list[object]) -> Row:
        cases.append(case)
        problems = ("frame 3 out of port 1 is missing",) if (case.scenario, case.width) == ("rack", 512) else ()
        verdict = "fail" if problems else "pass"
        return Row(case.scenario, case.width, case.dtype, "d", verdict, len(inputs), 1, 2_000, 0.5, problems)

    monkeypatch.setattr(card_scenarios, "built_library", lambda *_: Path("d.so"))
    monkeypatch.setattr(card_scenarios, "played", played)
    monkeypatch.setattr(
        card_scenarios, "_trace", lambda case: (None, [] if case.scenario == "psn-wrap" else [_Frame()])
    )
    monkeypatch.setattr(card_scenarios, "parameters_for", lambda *_: None)
    return cases


class _Frame:
    frame = b"1234"


def test_short_traces_come_first_and_a_wrong_frame_fails(cards: list[Case], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rack", "psn-wrap", "--dtype", "int32"]) == 1
    assert [(case.scenario, case.width) for case in cards] == [
        ("psn-wrap", 64), ("rack", 64), ("psn-wrap", 512), ("rack", 512),
    ]  # fmt: skip
    out = capsys.readouterr().out
    assert "frame 3 out of port 1 is missing" in out
    assert "512 bits: 1 of 2 as the reference; 4,000 cycles in 1 s of CPU time" in out


def test_a_run_goes_on_where_it_ended(cards: list[Case], tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    words = ["rack", "--width", "64", "--rows", str(rows)]
    assert main([*words, "--dtype", "int32"]) == 0
    assert main(words) == 0
    assert [case.dtype for case in cards] == ["int32", "float32"]
    (first, _) = (json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines())
    rows.write_text(json.dumps(first | {"design": "of yesterday"}) + "\n", encoding="utf-8")
    assert main([*words, "--dtype", "int32"]) == 0
    assert len(cards) == 3, "another design is tried again"


def test_every_case_has_gaps_and_back_pressure() -> None:
    assert {pressure_of(name) for name in ("rack", "rack-lossy", "psn-wrap", "tail-lost")} <= {1, 2, 3}
