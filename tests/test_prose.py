"""Pages, docstrings and messages follow the rules for words (`tests.support.prose`, `tests.support.prose_of_code`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.prose import breaches_of, sentences_of
from tests.support.prose_of_code import EXCEPTIONS, FOLDERS, breaches_of_docstrings, breaches_of_messages

pytestmark = pytest.mark.protocols("all")

TOP = Path(__file__).resolve().parents[1]
PAGES = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
MODULES = sorted(path for folder in FOLDERS for path in (TOP / folder).rglob("*.py"))
PAGES_MAY_SAY = {("scenario-keys.md", "beside")}
"""The key of that name heads its section."""
LONG = " ".join(["word"] * 31) + "."


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_plain_sentences(page: Path) -> None:
    found = [
        f"{page.name}:{breach.line}: {breach.rule}: {breach.sentence}"
        for breach in breaches_of(page.read_text(encoding="utf-8"))
        if (page.name, breach.sentence) not in PAGES_MAY_SAY
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("what", ["docstrings", "messages"])
def test_texts_of_the_code_are_plain(what: str) -> None:
    found = []
    for path in MODULES:
        name, source = str(path.relative_to(TOP)), path.read_text(encoding="utf-8")
        breaches = breaches_of_docstrings(source) if what == "docstrings" else breaches_of_messages(source, name)
        found += [f"{name}:{breach.line}: {breach.rule}: {breach.sentence[:200]}" for breach in breaches]
    assert not found, "\n".join(found)


def test_exceptions_are_few_and_there() -> None:
    assert len(EXCEPTIONS) + len(PAGES_MAY_SAY) <= 20
    for name, part in EXCEPTIONS:
        source = (TOP / name).read_text(encoding="utf-8")
        assert list(breaches_of_messages(source)), f"{name} needs no exception"
        assert part in source


def test_sentences_end_at_stops_cells_and_items_and_not_in_code() -> None:
    text = (
        "One. Two, e.g. `a. B` here.\n\n- item\n- other\n\n| a | b. C |\n|---|---|\n| d | e |\n\n```sh\nno. Text\n```\n"
    )
    assert [sentence for _, sentence in sentences_of(text)] == [
        "One.", "Two, e.g. CODE here.", "item", "other", "a", "b.", "C", "d", "e",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "rule"),
    [(LONG, "31 words, at most 30"), ("He is told.", "phrase 'told'"), ("A\ntwin runs.", "phrase 'twin'")],
)
def test_each_rule_of_pages(text: str, rule: str) -> None:
    assert [breach.rule for breach in breaches_of(text)] == [rule]
    assert not list(breaches_of(f"```\n{text}\n```\n"))


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ('class A:\n    b: int\n    """that a packet carries"""\n', "begins with no noun"),
        ('def a():\n    """It is told `anew`, [there](#beside)."""\n', "phrase 'told'"),
    ],
)
def test_each_rule_of_docstrings(source: str, rule: str) -> None:
    assert [breach.rule for breach in breaches_of_docstrings(source)] == [rule]
    assert not list(breaches_of_messages(source))


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        (f'a = "{" ".join(["word"] * 26)}"\n', "26 words, at most 25"),
        ('a = f"{b} is told"\n', "phrase 'told'"),
        ('raise E("nobody is here")\n', "phrase 'nobody'"),
    ],
)
def test_each_rule_of_messages(source: str, rule: str) -> None:
    assert [breach.rule for breach in breaches_of_messages(source)] == [rule]
    assert not list(breaches_of_docstrings(source))
