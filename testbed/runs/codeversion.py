"""Which code ran, so that what two versions of it found is not taken for one measurement."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

__all__ = ["code_version"]

_PACKAGES = ("switch_nodes", "testbed", "topologies", "workloads")
_SOURCES = frozenset((".py", ".c", ".h"))


@cache
def code_version(root: Path = Path(__file__).parents[2]) -> str:
    """Twelve hex digits of the SHA-256 over the names and contents of our source files below `root`, as they were when this
    was first asked."""
    digest = hashlib.sha256()
    files = (path for package in _PACKAGES for path in (root / package).rglob("*") if path.suffix in _SOURCES)
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]
