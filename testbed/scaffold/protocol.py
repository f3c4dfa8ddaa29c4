"""A package with a protocol, that runs and is tested from the first minute."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from testbed.scenario.protocols.named import protocol_names
from workloads.errors import ScenarioError

__all__ = ["files_of_protocol", "write_package"]

_TEXTS = Path(__file__).resolve().parents[2] / "playbooks" / "protocols" / "new"
_SUFFIX = ".txt"
"""of the texts, which are no modules"""
_LOWER, _CAMEL = "thename", "TheName"
"""stand for the name in texts and paths"""
_NAME = re.compile(r"[a-z][a-z0-9_]{1,40}\Z")


def files_of_protocol(name: str) -> dict[str, str]:
    """By path, the texts of a package with a protocol of this name. Raises ScenarioError for a name that a module or a
    scenario cannot have, and for one that exists."""
    if not _NAME.match(name) or keyword.iskeyword(name):
        raise ScenarioError(
            "no name for a protocol", file="NAME", found=repr(name),
            allowed="2 to 41 small letters, digits and _, a letter first, no word of Python",
        )  # fmt: skip
    if name in protocol_names():
        raise ScenarioError("there is a protocol of this name", file="NAME", found=repr(name), allowed="any other name")
    if name in sys.stdlib_module_names or find_spec(name) is not None:
        raise ScenarioError("there is a module of this name", file="NAME", found=repr(name), allowed="any other name")
    camel = "".join(part.title() for part in name.split("_"))
    return {
        _filled(str(path.relative_to(_TEXTS)).removesuffix(_SUFFIX), name, camel): _filled(
            path.read_text(encoding="utf-8"), name, camel
        )
        for path in sorted(_TEXTS.rglob(f"*{_SUFFIX}"))
    }


def _filled(text: str, name: str, camel: str) -> str:
    return text.replace(_CAMEL, camel).replace(_LOWER, name)


def write_package(folder: Path, files: Mapping[str, str]) -> None:
    """Raises ScenarioError where the folder exists and has something in it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ScenarioError("exists", file=str(folder), allowed="a new or an empty folder (--out)")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
