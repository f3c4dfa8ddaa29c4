"""Links of the repository become links of the site."""

from __future__ import annotations

from testbed.manual.repository import linked_files, page_for_site


def test_links_of_the_readme_lead_to_pages():
    text = "see [faults](docs/faults.md#what-replays), [the licence](LICENSE), [a host](https://example.org/docs/a.md)"
    assert page_for_site(text, "README.md") == (
        "see [faults](faults.md#what-replays), [the licence](files/LICENSE), [a host](https://example.org/docs/a.md)"
    )


def test_links_of_pages_lead_to_the_readme_and_to_files():
    text = "[a](time.md) [b](#limits) [c](../README.md#limits) [d](../playbooks/x.ipynb) ![e](images/x.svg)"
    assert page_for_site(text, "docs/python.md") == (
        "[a](time.md) [b](#limits) [c](index.md#limits) [d](files/playbooks/x.ipynb) ![e](images/x.svg)"
    )


def test_code_stays_as_it_is():
    text = "```\n[a](../README.md)\n<!-- x -->\n```\n"
    assert page_for_site(text, "docs/python.md") == text


def test_comments_end_before_a_table():
    assert page_for_site("a\n<!-- keys -->\n| b |\n", "docs/a.md") == "a\n\n| b |\n"


def test_files_that_are_there_come_along(tmp_path):
    (tmp_path / "LICENSE").touch()
    text = "[a](docs/faults.md) [b](LICENSE) [c](MISSING)"
    assert list(linked_files(text, "README.md", tmp_path)) == ["LICENSE"]


def test_borders_in_code_lose_their_backslash_in_tables_alone():
    assert page_for_site("| `a\\|b` | c\\|d |\n`e\\|f`\n", "docs/a.md") == "| `a|b` | c\\|d |\n`e\\|f`\n"
