"""The site is built strictly, and works in a browser without any other host."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.browser import Browser, browser, needs_browser

TOP = Path(__file__).resolve().parents[3]
pytestmark = [
    pytest.mark.minutes,
    pytest.mark.skipif(
        importlib.util.find_spec("mkdocs") is None, reason="the packages of requirements-docs.txt (./tb docs)"
    ),
]


def copy_of(top: Path) -> Path:
    """What the site is made of. Only its pages are changed, so the rest are links."""
    for path in TOP.iterdir():
        if path.name in ("docs", "README.md", "mkdocs.yml"):
            (shutil.copytree if path.is_dir() else shutil.copy)(path, top / path.name)
        elif path.name not in ("build", ".venv", ".git", "runs"):
            (top / path.name).symlink_to(path)
    return top


def build(top: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "mkdocs", "build", "--strict"]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(top), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=top, env=environment, capture_output=True, text=True, timeout=200, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    top = copy_of(tmp_path_factory.mktemp("site"))
    done = build(top)
    assert done.returncode == 0, done.stderr
    return top / "build" / "site"


def test_nothing_is_asked_of_other_hosts(site: Path) -> None:
    tags = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^>]*>")
    assert {tag for page in site.rglob("*.html") for tag in tags.findall(page.read_text(encoding="utf-8"))} == set()


def test_every_page_is_found_by_its_title(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    titles = {entry["location"]: entry["title"] for entry in index["docs"]}
    pages = {f"{page.stem}.html" for page in (TOP / "docs").glob("*.md")}
    assert len(pages) > 50
    assert pages - titles.keys() == set()
    assert all(titles[page] for page in pages)


def test_links_that_lead_nowhere_and_pages_outside_the_navigation_fail_the_build(tmp_path: Path) -> None:
    top = copy_of(tmp_path)
    with (top / "docs" / "time.md").open("a", encoding="utf-8") as page:
        page.write("\n[a page](nowhere.md) [a heading](faults.md#nothing) [a file](../playbooks/missing.yaml)\n")
    (top / "docs" / "lonely.md").write_text("# Lonely\n", encoding="utf-8")
    done = build(top)
    assert done.returncode == 1
    for said in ("nowhere.md", "#nothing", "missing.yaml", "lonely.md"):
        assert said in done.stderr, done.stderr


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Of the site, served on loopback."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@needs_browser
@pytest.mark.timeout(200)
def test_pages_fit_windows_of_400_and_1400_pixels_and_ask_no_other_host(address: str) -> None:
    with browser() as opened:
        for page in ("index.html", "scenario.html", "faults.html", "bring-your-own-fpga.html", "verdicts.html"):
            for width in (400, 1400):
                seen = opened.look(address + page, width)
                assert seen.page_width <= width, page
                assert seen.console == [], page
                assert [url for url in seen.fetched if not url.startswith((address, "data:"))] == [], page


_SEARCHES = {
    "window_packets": "scenario-keys", "drop_low_above": "scenario-keys", "oversubscription": "scenario-keys",
    "rto_low": "scenario-keys", "dcqcn": "scenario-keys", "time_limit": "scenario-keys",
    "tb hunt": "command-options", "tb sweep": "command-options", "no-twin": "command-options",
    "FaultStruck": "events", "BlockSummed": "events", "NakSent": "events", "QueueDropped": "events",
    "jct_s": "figures", "goodput_bps": "figures", "retransmissions.packets": "figures", "bit_exact": "figures",
    "exit code": "errors", "HostCapabilityError": "errors", "ScenarioError": "errors",
    "ecn_mark": "fault-kinds", "link_down": "fault-kinds", "nak_again": "fault-kinds",
    "STAGED_CHECK": "registers", "COUNT_ICRC": "registers",
    "on_record": "python-api", "register_checker": "python-api",
    "PyTorch": "tutorial-training", "first scenario": "tutorial-scenario", "dilation glossary": "glossary",
    "go-back-N": "roce",
}  # fmt: skip
"""What a reader types, and a page that must be among the first five answers."""


@needs_browser
@pytest.mark.timeout(280)
def test_searches_find_the_page(address: str) -> None:
    assert len(_SEARCHES) >= 30
    wrong = {}
    with browser() as opened:
        for words, page in _SEARCHES.items():
            opened.look(f"{address}index.html?q={quote(words)}", 1400, whole=False)
            if f"{page}.html" not in (found := _answers(opened)):
                wrong[words] = found
    assert wrong == {}


def _answers(opened: Browser) -> list[str]:
    script = "return [...document.querySelectorAll('.md-search-result__link')].map(link => link.getAttribute('href'))"
    for _ in range(100):
        if found := opened.run(script):
            pages = [str(link).partition("?")[0].rpartition("/")[2].partition("#")[0] for link in found]
            return list(dict.fromkeys(pages))[:5]
        time.sleep(0.1)
    return []
