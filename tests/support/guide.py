"""The files that docs/extending.md has users write."""

from __future__ import annotations

import re

from tests.support.floors import ROOT

GUIDE = ROOT / "docs" / "extending.md"


def section(heading: str) -> str:
    return GUIDE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]


def named_files(text: str) -> dict[str, str]:
    """By path: blocks of code whose path stands in the line before them."""
    found: list[tuple[str, str]] = re.findall(r"^`([\w/]+\.\w+)`:\n\n```\w+\n(.*?)```$", text, re.DOTALL | re.MULTILINE)
    return dict(found)


def only_file(text: str) -> str:
    """The one Python file of a section."""
    (found,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(found)
