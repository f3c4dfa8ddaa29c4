"""What MkDocs calls while it builds the site (mkdocs.yml names this file)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from testbed.manual.pages import filled
from testbed.manual.repository import FILES, HOME, linked_files, page_for_site

_IS_REFERENCE = re.compile(r"^(?:<!-- generated: |::: )", re.MULTILINE)
_BOOST = 3


def on_files(files: Any, config: Any) -> Any:
    """README.md is the first page; what pages link to outside docs/ comes along."""
    top = Path(config.config_file_path).parent
    sources = {"README.md": top / "README.md"}
    sources |= {f"docs/{file.src_uri}": Path(file.abs_src_path) for file in files.documentation_pages()}
    linked = {
        path for source, file in sources.items() for path in linked_files(file.read_text(encoding="utf-8"), source, top)
    }
    files.append(File.generated(config, HOME, content=(top / "README.md").read_text(encoding="utf-8")))
    for path in sorted(linked):
        files.append(File.generated(config, f"{FILES}/{path}", abs_src_path=str(top / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **others: Any) -> str:
    """Search puts pages that are made from the code first: a user who looks for a key wants its row."""
    if _IS_REFERENCE.search(markdown):
        page.meta.setdefault("search", {})["boost"] = _BOOST
    source = "README.md" if page.file.src_uri == HOME else f"docs/{page.file.src_uri}"
    return page_for_site(filled(markdown), source)
