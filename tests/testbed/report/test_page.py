"""What is drawn in report.html, and the page of a run that was killed."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

import testbed as tb
from testbed.cli import main
from testbed.report.network import network_html
from testbed.scenario import load_scenario
from tests.support.records import a_record


@pytest.fixture(scope="module")
def flap(tmp_path_factory: pytest.TempPathFactory) -> tb.Run:
    return tb.run("link-flap", world="simulated", out=tmp_path_factory.mktemp("runs") / "run")


class _Balance(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass


def test_the_page_has_plots_with_the_windows_of_faults(flap: tb.Run) -> None:
    page = flap.report.read_text(encoding="utf-8")
    assert page.count('class="plot"') == 4
    windows = flap.document["faults"][0]["active_s"]
    assert page.count('class="window"') == 4 * len(
        [since for since, _ in windows if since < flap.figures["duration_s"]]
    )  # type: ignore[operator]
    assert re.search(r"Counted every \d+m?s from the history of events; queue depths are not recorded\. Shaded: ", page)
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []


def test_every_line_stays_inside_its_picture(flap: tb.Run) -> None:
    page = flap.report.read_text(encoding="utf-8")
    for points in re.findall(r'<polyline points="([^"]*)"', page.split("<h2>Network</h2>")[0]):
        for point in points.split():
            x, y = map(float, point.split(","))
            assert 78 <= x <= 888
            assert 24 <= y <= 160


def test_the_page_shows_what_each_link_carried_and_lost(flap: tb.Run) -> None:
    page = flap.report.read_text(encoding="utf-8")
    assert f"{flap.figures['faults.flap.strikes']:,} struck" in page
    rows = re.findall(r"<tr><td>([\w-]+)</td><td>(up|down)</td><td>([^<]+)</td><td>([\d,]+)</td>", page)
    assert len(rows) == 8
    assert sum(int(row[3].replace(",", "")) for row in rows) == flap.figures["faults.flap.strikes"]
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_each_of_several_links_between_two_switches_shows_its_own_losses() -> None:
    history = [a_record(1, "world", "FaultStruck", target=f"s1-a1-{lane}") for lane in (1, 1, 2)]
    shown = network_html(load_scenario("accelerator"), history)
    assert sorted(re.findall(r">(\d+ struck)<", shown)) == ["1 struck", "2 struck"]


def test_the_same_page_comes_from_the_directory(
    flap: tb.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(flap.run_dir), "--out", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out == f"Report: {tmp_path}/page.html\n"
    assert (tmp_path / "page.html").read_bytes() == flap.report.read_bytes()


def test_a_killed_run_has_a_page_of_what_it_told(
    flap: tb.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = tmp_path / "killed"
    killed.mkdir()
    shutil.copy(flap.run_dir / "scenario.yaml", killed)
    lines = (flap.run_dir / "history.jsonl").read_bytes().splitlines(keepends=True)
    (killed / "history.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]) + lines[-1][:10])
    assert main(["report", str(killed)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"Report: {killed}/report.html"
    page = (killed / "report.html").read_text(encoding="utf-8")
    assert "This run did not end" in page
    assert f"{len(lines) // 2:,} events are there" in page
    assert 'class="plot"' in page
    assert "What each link carried was not measured" in page
    assert "Verdict" not in page
    (killed / "history.jsonl").write_bytes(b"")
    assert main(["report", str(killed)]) == 0
    assert "0 events are there" in (killed / "report.html").read_text(encoding="utf-8")


def test_what_is_no_run_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 64
    assert (
        capsys.readouterr().err
        == f"tb: {tmp_path}: not a run directory; found no scenario.yaml in it; allowed: as runs/latest\n"
    )
