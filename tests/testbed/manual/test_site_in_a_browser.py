"""The site as a reader sees it: every page fits narrow and wide windows, and searches find the page that answers."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import Browser, browser, needs_browser

pytestmark = [
    pytest.mark.minutes,
    needs_browser,
    pytest.mark.skipif(
        importlib.util.find_spec("mkdocs") is None, reason="the packages of requirements-docs.txt (./tb docs)"
    ),
]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Of the site, served on loopback."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


_CUT_OFF = """
const isBox = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
const inBox = (element) => element && element !== document.body && (isBox(element) || inBox(element.parentElement));
return [...document.querySelectorAll(".md-content *, .md-header *, .md-footer *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && each.checkVisibility() && !inBox(each))
  .map((each) => `${each.tagName}: ${each.textContent.trim().slice(0, 60)}`);
"""
"""What lies right of the window, and in no box that scrolls."""

_SETTLE = "document.getAnimations().forEach((each) => each.finish())"
"""The search box slides when the window gets wider."""

_IMAGES = "return [...document.images].map((image) => [image.src, image.complete && image.naturalWidth > 0])"


@pytest.mark.timeout(580)
def test_every_page_fits_windows_of_400_and_1400_pixels(address: str, site: Path) -> None:
    pages = sorted(page.relative_to(site).as_posix() for page in site.rglob("*.html"))
    assert len(pages) > 60
    wrong: dict[str, object] = {}
    images = 0
    with browser() as opened:
        for page in pages:
            seen = opened.look(address + page, 400, whole=False)
            for width in (400, 1400):
                opened.resize(width)
                opened.run(_SETTLE)
                page_width, cut_off = opened.page_width(), opened.run(_CUT_OFF)
                if page_width > width or cut_off:
                    wrong[f"{page} at {width}"] = (page_width, cut_off)
            shown = dict(opened.run(_IMAGES))
            images += len(shown)
            if broken := [image for image, is_shown in shown.items() if not is_shown]:
                wrong[f"images of {page}"] = broken
            if foreign := [url for url in seen.fetched if not url.startswith((address, "data:"))]:
                wrong[f"other hosts of {page}"] = foreign
            if seen.console:
                wrong[f"console of {page}"] = seen.console
    assert wrong == {}
    assert images > 0


_SEARCHES = {
    "switch.memory": "scenario-keys", "transport.window": "scenario-keys", "topology.link.rate": "scenario-keys",
    "window_packets": "scenario-keys", "drop_low_above": "scenario-keys", "oversubscription": "scenario-keys",
    "rto_low": "scenario-keys", "dcqcn": "scenario-keys", "time_limit": "scenario-keys", "seed": "scenario-keys",
    "tb hunt": "command-options", "tb sweep": "command-options", "tb doctor": "command-options",
    "no-twin": "command-options", "--no-twin": "command-options", "--world": "command-options",
    "FaultStruck": "events", "BlockSummed": "events", "NakSent": "events", "QueueDropped": "events",
    "busbw_bps": "figures", "jct_s": "figures", "goodput_bps": "figures", "retransmissions.packets": "figures",
    "bit_exact": "figures", "JCT parts": "jct-parts", "jct.parts.timers": "jct-parts",
    "exit code 2": "errors", "exit code": "errors", "HostCapabilityError": "errors", "ScenarioError": "errors",
    "ecn_mark": "fault-kinds", "link_down": "fault-kinds", "nak_again": "fault-kinds", "packet loss": "loss",
    "STAGED_CHECK": "registers", "COUNT_ICRC": "registers", "FPGA registers": "registers",
    "FPGA": "bring-your-own-fpga", "on_record": "python-api", "register_checker": "python-api",
    "PyTorch": "tutorial-training", "torch": "training", "first scenario": "tutorial-scenario",
    "switch program": "programs", "dilation": "time", "dilation glossary": "glossary",
    "go-back-N": "roce", "PSN": "roce", "ECN": "congestion", "selective repeat": "irn", "SwitchML": "switchml",
    "capture": "verdicts", "pcapng": "verdicts", "result.json": "verdicts", "fat tree": "topologies",
    "network namespace": "emulation", "ring all-reduce": "workloads", "plot": "sweeps", "GitHub Actions": "ci",
}  # fmt: skip
"""What a reader types, and a page that must be among the first three answers."""

_TYPE = """
const box = document.querySelector(".md-search__input");
box.focus();
box.value = arguments[0];
box.dispatchEvent(new KeyboardEvent("keyup"));
"""
_ANSWERS = """
return [...document.querySelectorAll(".md-search-result__link")].map((link) => new URL(link.href).pathname.slice(1));
"""


@pytest.mark.timeout(280)
def test_searches_find_the_page(address: str) -> None:
    assert len(_SEARCHES) >= 30
    wrong = {}
    with browser() as opened:
        opened.look(f"{address}index.html", 1400, whole=False)
        for words, page in _SEARCHES.items():
            opened.run(_TYPE, "")
            _answers(opened, some=False)
            opened.run(_TYPE, words)
            if f"{page}.html" not in (found := _answers(opened, some=True)[:3]):
                wrong[words] = found
    assert wrong == {}


def _answers(opened: Browser, *, some: bool) -> list[str]:
    """Pages, best first, when there are some, or none."""
    for _ in range(300):
        pages = list(dict.fromkeys(opened.run(_ANSWERS)))
        if bool(pages) == some:
            return pages
        time.sleep(0.1)
    return pages
