"""Packages that add protocols, installed into a folder: as pip would, without a network."""

from __future__ import annotations

import tomllib
from pathlib import Path

from testbed.scaffold.protocol import files_of_protocol, write_package

__all__ = ["install", "metadata"]


def metadata(folder: Path, name: str, entries: dict[str, dict[str, str]], version: str = "0.1") -> None:
    """Of an installed distribution."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    lines = [line for group, found in entries.items() for line in (f"[{group}]", *map(" = ".join, found.items()))]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def install(folder: Path, name: str) -> None:
    """The package that `tb new protocol NAME` writes."""
    files = files_of_protocol(name)
    write_package(folder, files)
    project = tomllib.loads(files["pyproject.toml"])["project"]
    metadata(folder, project["name"], project["entry-points"], project["version"])
