"""The reference run in virtual time next to a run."""

from __future__ import annotations

from pathlib import Path

import pytest

import testbed as tb
from testbed.cli import main
from testbed.report.reference import REFERENCE, read_reference, reference_text
from testbed.scenario import load_scenario
from tests.support.emulated import needs_root
from tests.support.pages import data_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tb.Run:
    return tb.run("link-flap", world="simulated", out=tmp_path_factory.mktemp("runs") / "run")


def test_it_is_counted_in_the_intervals_of_the_run(run: tb.Run, tmp_path: Path) -> None:
    """The reference takes half the time here."""
    own = run.history
    text = reference_text([record for record in own if record.t < 77_000_000], own, load_scenario("link-flap"))
    (tmp_path / REFERENCE).write_text(text, encoding="utf-8")
    found = read_reference(tmp_path)
    assert found["slots in use"][0].name == "s1"
    values = found["slots in use"][0].values
    assert 30 < len(values) < 40
    assert list(values) == list(run.over_time.of("slots in use")["s1"][: len(values)])  # type: ignore[union-attr]


def test_the_page_draws_it_next_to_the_run(run: tb.Run, tmp_path: Path) -> None:
    before = data_of(run.report.read_text(encoding="utf-8"))
    assert not [line for chart in before["charts"] for line in chart["lines"] if line["role"] == "reference"]
    (run.run_dir / REFERENCE).write_text('{"slots in use": [["s1", "line", [1, 2, 3]]]}', encoding="utf-8")
    assert main(["report", str(run.run_dir), "--out", str(tmp_path / "page.html")]) == 0
    (run.run_dir / REFERENCE).unlink()
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    (line,) = (each for chart in data_of(page)["charts"] for each in chart["lines"] if each["role"] == "reference")
    assert line == {"name": "s1 in virtual time", "role": "reference", "of": "s1", "coarse": [1, 1, 2, 2, 3, 3]}
    assert "Dashed: the same run in virtual time" in page


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "7", '{"a": 1}', '{"a": [1]}', '{"a": [["h1", "line"]]}', '{"a": [["h1", "line", ["x"]]]}',
     '{"a": [["h1", "line", []]]}', '{"a": [["h1", "band", [1]]]}', '{"a": [[1, "line", [1]]]}',
     '{"a": [["h1", "line", [NaN]]]}', '{"a": [["h1", "line", [1e999]]]}', '{"a": [["h1", "line", [null]]]}',
     "[" * 100_000],
)  # fmt: skip
def test_a_damaged_file_is_named(run: tb.Run, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = run.run_dir / REFERENCE
    file.write_text(text, encoding="utf-8")
    assert main(["report", str(run.run_dir)]) == 64
    file.unlink()
    told = capsys.readouterr().err
    assert f"{file}: cannot be read; found " in told
    assert "allowed: an object of charts" in told


def test_a_run_without_one_has_none(tmp_path: Path) -> None:
    assert read_reference(tmp_path) == {}


@pytest.mark.parametrize("world", [pytest.param("emulated", marks=needs_root)])
def test_an_emulated_run_keeps_it(tmp_path: Path, world: str) -> None:
    run = tb.run("rack", set={"job.size": "40kB"}, world=world, out=tmp_path / "run")
    found = read_reference(run.run_dir)
    assert set(found) >= {"gradient of completed messages"}
    data = data_of(run.report.read_text(encoding="utf-8"))
    assert data["reference_s"] == run.document["twin"]["jct_s"][0]
    for lines in found.values():
        for line in lines:
            assert len(line.values) * 10 * data["interval_s"] == pytest.approx(data["reference_s"], rel=0.2)
