"""The site is built strictly, and every page can be found."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from tests.support.site import TOP, build, copy_of_the_pages

pytestmark = [
    pytest.mark.minutes,
    pytest.mark.skipif(
        importlib.util.find_spec("mkdocs") is None, reason="the packages of requirements-docs.txt (./tb docs)"
    ),
]


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
    top = copy_of_the_pages(tmp_path)
    with (top / "docs" / "time.md").open("a", encoding="utf-8") as page:
        page.write("\n[a page](nowhere.md) [a heading](faults.md#nothing) [a file](../playbooks/missing.yaml)\n")
    (top / "docs" / "lonely.md").write_text("# Lonely\n", encoding="utf-8")
    done = build(top)
    assert done.returncode == 1
    for said in ("nowhere.md", "#nothing", "missing.yaml", "lonely.md"):
        assert said in done.stderr, done.stderr
