"""`python -m testbed.manual PAGE`: the Markdown of a page of docs/ with the parts that are made from the code."""

from __future__ import annotations

import sys
from pathlib import Path

from testbed.manual.pages import filled

_DOCS = Path(__file__).resolve().parents[2] / "docs"


def main(words: list[str]) -> int:
    pages = {path.stem: path for path in sorted(_DOCS.glob("*.md"))}
    if len(words) != 1 or words[0] not in pages:
        print(f"usage: python -m testbed.manual PAGE; pages: {', '.join(pages)}", file=sys.stderr)
        return 64
    print(filled(pages[words[0]].read_text(encoding="utf-8")), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
