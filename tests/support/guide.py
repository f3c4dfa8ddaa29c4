"""The files that docs/extending.md has users write."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.support.floors import ROOT

GUIDE = ROOT / "docs" / "extending.md"
PRODUCT = ("testbed", "workloads", "switch_nodes", "topologies", "playbooks")


def copy_product(tree: Path, more: Iterable[str] = ()) -> None:
    """What users extend, and further folders. Compiled modules come along, which saves most of the time, and the C core
    is the one that the checkout has built."""
    for folder in (*PRODUCT, *more):
        # Another process may be writing a compiled module under a passing name.
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("*.pyc.*"), dirs_exist_ok=True)
    if (ROOT / "build" / "native").is_dir():
        (tree / "setup.cfg").touch()  # makes it a checkout, which keeps its own builds
        (tree / "build").mkdir()
        (tree / "build" / "native").symlink_to(ROOT / "build" / "native")


def section(heading: str) -> str:
    return GUIDE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]


def named_files(text: str) -> dict[str, str]:
    """By path: blocks of code whose path stands in the line before them, and the files of the example that the text
    links to."""
    blocks: list[tuple[str, str]] = re.findall(
        r"^`([\w/]+\.\w+)`:\n\n```\w+\n(.*?)```$", text, re.DOTALL | re.MULTILINE
    )
    links: list[tuple[str, str]] = re.findall(r"\[`([\w/]+\.\w+)`\]\(\.\./(tests/data/extending/[\w/]+\.\w+)\)", text)
    return {path: (ROOT / file).read_text(encoding="utf-8") for path, file in links} | dict(blocks)


def own_protocol() -> str:
    """The file that the section on a protocol of your own links to."""
    (path,) = re.findall(
        r"\(\.\./(playbooks/[\w/]+\.py)\)", section("A protocol of your own, without touching the project")
    )
    return (ROOT / path).read_text(encoding="utf-8")


OTHERWISE = """

import dataclasses
from testbed.protocols import DatagramHunt


def otherwise(protocol, **changes):
    known = {each.name for each in dataclasses.fields(protocol)}
    methods = {name: staticmethod(to) if callable(to) else to for name, to in changes.items() if name not in known}
    made = type("Other", (type(protocol),), {"__module__": __name__, **methods})
    return made(**{name: changes.get(name, getattr(protocol, name)) for name in known})


plan = BF16.plan
"""
"""What files of tests append to that file: a protocol with other fields, and with functions in place of its methods."""
