"""A report as its readers use it: with the mouse, with keys, with a screen reader, and without scripts."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed as tb
from tests.support.browser import Browser, browser, needs_browser

pytestmark = needs_browser
WIDTHS = 800, 1400
LARGE = {"job.size": "40kB", "topology": "{kind: spine_leaf, leaves: 3, spines: 2, hosts_per_leaf: 12}", "faults": "[]"}


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as window:
        yield window


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of four hosts."""
    return tb.run("link-flap", world="simulated", out=tmp_path_factory.mktemp("small") / "run").report


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 36 hosts in three racks."""
    return tb.run("rack", set=LARGE, world="simulated", out=tmp_path_factory.mktemp("large") / "run").report


def drawn(opened: Browser, page: Path, width: int, *, dark: bool = False) -> None:
    """Opened, with all that its script draws."""
    seen = opened.look(page, width, dark=dark)
    deadline = time.monotonic() + 30
    while not opened.run("return document.querySelector('.range')?.textContent") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (seen.console, seen.fetched) == ([], [])


_BLANK = """
return [...document.querySelectorAll(".plot, #timeline")].map((place) => {
  const canvas = place.querySelector("canvas");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return [canvas.getBoundingClientRect().right, new Set(new Uint32Array(pixels.buffer)).size];
});
"""
_CUT_OFF = """
const isBox = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
const inBox = (element) => element && element !== document.body && (isBox(element) || inBox(element.parentElement));
return [...document.body.querySelectorAll("*")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && each.checkVisibility() && !inBox(each))
  .map((each) => `${each.tagName}: ${each.textContent.trim().slice(0, 60)}`);
"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("which", ["small", "large"])
def test_all_charts_are_drawn_and_fit(
    opened: Browser, width: int, dark: bool, which: str, request: pytest.FixtureRequest
) -> None:
    drawn(opened, request.getfixturevalue(which), width, dark=dark)
    charts = opened.run(_BLANK)
    assert len(charts) >= 6
    assert all(right <= width and colours > 10 for right, colours in charts), charts
    assert opened.page_width() <= width
    assert opened.run(_CUT_OFF) == []


def _range(opened: Browser) -> str:
    return str(opened.run("return document.querySelector('.range').textContent"))


def _area(opened: Browser, chart: str) -> tuple[float, float, float, float]:
    """(left, top, width, height) of a chart's inside, scrolled into the window."""
    left, top, width, height = opened.run(
        "const area = document.querySelector(`${arguments[0]} .u-over`); area.scrollIntoView({block: 'center'});"
        "const box = area.getBoundingClientRect(); return [box.left, box.top, box.width, box.height];",
        chart,
    )
    return left, top, width, height


_VALUES = "return [...document.querySelectorAll('.u-legend')].map((each) => each.textContent)"
_TICKS = (
    "return [...document.querySelectorAll('.u-legend .u-series:first-child .u-value')].map((each) => each.textContent)"
)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_drag_over_one_chart_zooms_all_and_a_double_click_shows_the_whole_run(
    opened: Browser, small: Path, width: int
) -> None:
    drawn(opened, small, width)
    assert _range(opened) == "0 ms to 154.239 ms"
    left, top, wide, high = _area(opened, "[data-chart='5']")
    opened.point((left + wide / 2, top + high / 2))
    before = opened.run(_VALUES)
    assert _area(opened, "[data-chart='5']")[1] == top, "nothing moves under the mouse"
    assert all(re.search(r"time7\d(\.\d+)? ms", text) for text in before), before
    assert re.search(r"h\d\d+ in 2 ms", before[5])
    opened.point((left + wide / 2, top + 20), (left + 0.55 * wide, top + 20), (left + 0.6 * wide, top + 20), drag=True)
    since, until = (float(part.split()[0]) for part in _range(opened).split(" to "))
    assert since == pytest.approx(154.239 / 2, abs=0.5)
    assert until == pytest.approx(154.239 * 0.6, abs=0.5)
    opened.point((left + wide / 2, top + high / 2))
    times = {float(text.split()[0]) for text in opened.run(_TICKS)}
    assert max(times) - min(times) < 0.5, "the cursor is at one time in all charts"
    assert min(times) == pytest.approx((since + until) / 2, abs=0.5)
    assert re.search(r"h\d\d* in 200 us", opened.run(_VALUES)[5]), "the finer level"
    opened.point((left + wide / 2, top + high / 2), clicks=2)
    assert _range(opened) == "0 ms to 154.239 ms"


def test_keys_zoom_move_reset_and_read(opened: Browser, small: Path) -> None:
    drawn(opened, small, 800)
    opened.run("document.querySelector('[data-chart=\"4\"]').focus()")
    opened.press("+")
    assert _range(opened) == "38.5598 ms to 115.679 ms"
    assert opened.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    opened.press("ArrowRight")
    assert _range(opened) == "53.9837 ms to 131.103 ms"
    opened.press("ArrowLeft")
    opened.press("-")
    assert _range(opened) == "0 ms to 154.239 ms"
    opened.press("ArrowRight", shift=True)
    status = opened.run("return document.querySelector('[role=status]').textContent")
    assert re.fullmatch(r"8\d\.\d+ ms: s1 2\d\d slots", status), status
    opened.press("+")
    opened.press("0")
    assert _range(opened) == "0 ms to 154.239 ms"


def test_the_legend_hides_a_line_by_key(opened: Browser, small: Path) -> None:
    drawn(opened, small, 800)
    opened.run("document.querySelector('[data-chart=\"0\"] .u-series:nth-child(2) th').focus()")
    for key, off in (("Enter", 1), (" ", 0)):
        opened.press(key)
        assert opened.run("return document.querySelectorAll('[data-chart=\"0\"] .u-series.u-off').length") == off


def test_racks_open_by_key(opened: Browser, large: Path) -> None:
    drawn(opened, large, 1400)
    height = "return document.querySelector('#timeline canvas').getBoundingClientRect().height"
    folded = opened.run(height)
    opened.run("document.querySelector('.fold').focus()")
    assert opened.run("return document.activeElement.textContent") == "rack of leaf1"
    state = "return document.activeElement.getAttribute('aria-expanded')"
    opened.press("Enter")
    assert opened.run(state) == "true"
    assert opened.run(height) > folded + 12 * 20
    opened.press(" ")
    assert opened.run(state) == "false"
    assert opened.run(height) == folded
    opened.run("document.querySelectorAll('h2 ~ details:has(.links) > summary')[1].focus()")
    opened.press("Enter")
    assert opened.run("return document.activeElement.parentElement.open")


def test_a_chosen_link_has_its_chart(opened: Browser, small: Path) -> None:
    drawn(opened, small, 800)
    assert opened.run("return document.querySelector('#link').textContent") == "h2-s1 down over time"
    opened.run("document.querySelector('input[value=\"h4-s1 down\"]').click()")
    assert opened.run("return document.querySelector('#link').textContent") == "h4-s1 down over time"
    left, top, wide, high = _area(opened, "#link-chart")
    opened.point((left + 0.9 * wide, top + high / 2))
    legend = opened.run("return document.querySelector('#link-chart .u-legend').textContent")
    assert re.search(r"frames waiting\d framesreceived\d+\.?\d* Mbit/s", legend), legend


def test_pointing_at_the_timeline_says_what_was_there(opened: Browser, small: Path) -> None:
    drawn(opened, small, 1400)
    left, top, wide, _ = _area(opened, "#timeline")
    rows = opened.run("return [...document.querySelectorAll('.labels > *')].map((each) => each.textContent)")
    y = top + 23 * rows.index("h2 -> h3") + 11
    opened.point((left + 13 / 154.239 * wide, y))
    tip = opened.run("return document.querySelector('.tip').textContent")
    assert re.match(r"h2 -> h3: fault hit: .*flap.* at h2-s1 up", tip), tip
    opened.point((left + 60 / 154.239 * wide, y))
    tip = opened.run("return document.querySelector('.tip').textContent")
    assert re.match(r"h2 -> h3: message \d+: posted, then acknowledged, .* ms to .* ms", tip), tip


@pytest.mark.parametrize("which", ["small", "large"])
def test_a_screen_reader_gets_names_and_tables(opened: Browser, which: str, request: pytest.FixtureRequest) -> None:
    drawn(opened, request.getfixturevalue(which), 800)
    nodes = opened.accessible()
    assert [node for node in nodes if node["focusable"] and not node["name"] and node["role"] != "RootWebArea"] == []
    names = [node["name"] for node in nodes if node["role"] == "group" and "chart. Plus and minus zoom" in node["name"]]
    assert len(names) == opened.run("return document.querySelectorAll('.plot, #timeline').length")
    tables = opened.run("return document.querySelectorAll('.alternative table').length")
    assert tables == len(names) - 1, "the numbers of the chosen link are in the table of links"


def test_without_scripts_the_tables_are_open(opened: Browser, small: Path) -> None:
    opened.scripts(run=False)
    try:
        opened.look(small, 800)
        assert opened.run("return document.querySelectorAll('.alternative[open] table').length") == 8
        assert opened.run("return document.querySelectorAll('.tools, canvas').length") == 0
        assert "Charts need JavaScript." in opened.run("return document.body.innerText")
    finally:
        opened.scripts(run=True)
