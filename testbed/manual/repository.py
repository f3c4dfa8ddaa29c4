"""Pages of the repository as pages of the site: where their links lead."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["FILES", "HOME", "linked_files", "page_for_site"]

HOME = "index.md"
"""The page of the site that README.md becomes."""
FILES = "files"
"""Folder of the site for files outside docs/ that a page links to."""
_FENCE = re.compile(r"^(```.*?^```)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_COMMENT = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)


def page_for_site(text: str, source: str) -> str:
    """Markdown of one page. `source`: path of its file in the repository, as `docs/faults.md`."""

    def there(link: str) -> str:
        return posixpath.relpath(_place(_target(link, source)), posixpath.dirname(_place(source)) or ".")

    parts = _FENCE.split(text)
    for index in range(0, len(parts), 2):  # the odd ones are blocks of code
        text = _ROW.sub(_row, _COMMENT.sub("\n", parts[index]))
        parts[index] = _LINK.sub(lambda found: found[1] + there(found[2]) + found[3], text)
    return "".join(parts)


def _row(found: re.Match[str]) -> str:
    """Of a table: GitHub wants `\\|` in code, Python-Markdown shows its backslash."""
    parts = found[0].split("`")
    parts[1::2] = [part.replace("\\|", "|") for part in parts[1::2]]
    return "`".join(parts)


def linked_files(text: str, source: str, top: Path) -> Iterator[str]:
    """Files of the repository that a page links to and that are no pages."""
    for part in _FENCE.split(text)[::2]:
        for _, link, _ in _LINK.findall(part):
            target = _target(link, source)
            if _place(target).startswith(f"{FILES}/") and (top / target).is_file():
                yield target


def _target(link: str, source: str) -> str:
    """Path in the repository."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def _place(path: str) -> str:
    """Where the site has a file of the repository."""
    if path == "README.md":
        return HOME
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{FILES}/{path}"
