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
from tests.support.browser import browser, needs_browser
from tests.support.pages import data_of, rows_of_links, without_scripts
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
        if tag not in ("meta", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass


def test_the_page_has_charts_with_the_windows_of_faults(flap: tb.Run) -> None:
    page = flap.report.read_text(encoding="utf-8")
    data = data_of(page)
    titles = [chart["title"] for chart in data["charts"]]
    assert len(titles) == 7
    assert titles == re.findall(
        r'data-chart="\d+"></div><details class="alternative" open><summary>Table: ([^<]*)', page
    )
    assert {"received over links", "frames waiting in queues", "slots in use"} <= set(titles)
    active = flap.document["faults"][0]["active_s"]
    assert data["windows"] == [["flap", *each] for each in active if each[0] < flap.figures["jct_s"]]  # type: ignore[operator]
    assert re.search(
        r"Counted every 2\.00 ms from the history of events, and every 200 us when zoomed\. "
        r"Queues of switches, slots and marks were looked at every \d+",
        page,
    )
    assert " Shaded: active times of flap." in page
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []


def test_the_page_says_the_numbers_without_its_script(flap: tb.Run) -> None:
    page = without_scripts(flap.report.read_text(encoding="utf-8"))
    assert "<noscript><p>Charts need JavaScript." in page
    assert "job completed in 154 ms; goodput 51.9 Mbit/s" in page
    assert "h2-s1 up was busiest: 61.4% of 100 Mbit/s. The longest queue was that of h2-s1 down: 22 frames." in page
    assert page.count('<details class="alternative" open>') == 8
    assert "http" not in re.sub(r'http-equiv="|http://www.w3.org/2000/svg', "", page)


def test_the_page_shows_what_each_link_carried_and_lost(flap: tb.Run) -> None:
    page = flap.report.read_text(encoding="utf-8")
    assert f"{flap.figures['faults.flap.strikes']:,} hit" in page
    rows = rows_of_links(page)
    assert len(rows) == 8
    assert sum(int(row["hit by faults"].replace(",", "")) for row in rows) == flap.figures["faults.flap.strikes"]


def test_each_of_several_links_between_two_switches_shows_its_own_losses() -> None:
    history = [a_record(1, "world", "FaultStruck", target=f"s1-a1-{lane}") for lane in (1, 1, 2)]
    shown = network_html(load_scenario("accelerator"), history, {})
    assert sorted(re.findall(r">(\d+ hit)<", shown)) == ["1 hit", "2 hit"]


def test_the_same_page_comes_from_the_directory(
    flap: tb.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(flap.run_dir), "--out", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out == f"Report: {tmp_path}/page.html\n"
    assert (tmp_path / "page.html").read_bytes() == flap.report.read_bytes()


def test_a_page_that_cannot_be_written_is_the_users_to_mend(
    flap: tb.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "absent" / "page.html"
    assert main(["report", str(flap.run_dir), "--out", str(there)]) == 64
    assert capsys.readouterr().err == (
        f"tb: {there}: --out: cannot be written; found No such file or directory; allowed: a file in a folder that is "
        "there\n"
    )


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
    assert data_of(page)["charts"]
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


def test_the_page_says_when_which_version_and_what_was_captured(tmp_path: Path) -> None:
    run = tb.run("corrupt-contribution", world="simulated", out=tmp_path / "a run")
    page = run.report.read_text(encoding="utf-8")
    assert re.search(r"It began \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, by ina-testbed " + re.escape(tb.__version__), page)
    assert '<a href="s1.pcapng">s1.pcapng</a>' in page
    assert main(["report", str(run.run_dir), "--out", str(tmp_path / "page.html")]) == 0
    assert '<a href="a%20run/s1.pcapng">' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_picture_of_a_page_does_not_style_the_rest(flap: tb.Run) -> None:
    page = flap.report.read_text(encoding="utf-8")
    styles = re.findall(r"<style>(.*?)</style>", page.split("</head>")[1])
    assert len(styles) == 1
    for selector in re.findall(r"([^{}]+)\{", styles[0]):
        assert all(each.startswith(".topo ") for each in selector.split(",")), selector


@needs_browser
def test_a_browser_shows_the_page_whole_and_fetches_nothing(flap: tb.Run, tmp_path: Path) -> None:
    compared = tmp_path / "compared.html"
    assert main(["compare", str(flap.run_dir), str(flap.run_dir), "--html", str(compared)]) == 0
    with browser() as window:
        for page in (flap.report, compared):
            for width in (1280, 400):
                for dark in (False, True):
                    seen = window.look(page, width, dark=dark)
                    assert (seen.console, seen.fetched) == ([], [])
                    assert seen.page_width <= width


@needs_browser
def test_the_browser_sees_what_a_page_must_not_do(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<body style="width:900px"><script>console.error("trouble")</script><img src="gone.png"></body>',
        encoding="utf-8",
    )
    with browser() as window:
        seen = window.look(page, 400)
    assert any("trouble" in line for line in seen.console)
    assert seen.fetched == [(tmp_path / "gone.png").as_uri()]
    assert seen.page_width > 400
