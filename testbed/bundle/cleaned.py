"""Texts and documents without what names this machine or its user: absolute paths keep their last part alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["clean_document", "clean_text", "has_path"]

_PART = r"[^\s/\"'`,;:()<>|]+"
_PATH = re.compile(rf"(?<![^\s\"'`(=\[,;>])(?:file://)?/(?=[\w.~])(?:{_PART}/+)*({_PART})/?")
"""An absolute path, where a word begins. Neither the end of `bit/s` nor that of an address of the web is one."""
_KEPT = frozenset(
    ("version", "source", "own_code", "world", "code", "backend", "event_loop", "python", "numpy", "data_plane")
)
"""Parts of a run's environment that say which software ran, and nothing of the machine"""


def has_path(text: str) -> bool:
    return _PATH.search(text) is not None


def clean_text(text: str) -> str:
    for folder in (str(Path.cwd()), str(Path.home())):
        if " " in folder:  # the pattern takes a blank for the end of a path
            text = text.replace(f"{folder}/", "")
    return _PATH.sub(r"\1", text)


def clean_document(value: Any, *, machine: bool = False) -> Any:
    """JSON values, keys of mappings too. `machine`: keep all of the environment of a run."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_document(item, machine=machine) for item in value]
    if not isinstance(value, Mapping):
        return value
    found = {}
    for key, item in value.items():
        if key == "environment" and isinstance(item, Mapping) and not machine:
            item = {name: each for name, each in item.items() if name in _KEPT}
        found[clean_text(str(key))] = clean_document(item, machine=machine)
    return found
