"""Where compiled code lies, and what there is to say of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NativeStatus", "cache_folders"]

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class NativeStatus:
    """Whether a library runs, and where it lies or why not."""

    available: bool
    detail: str
    failed: bool = False
    """a compiler is there, and made nothing that runs: that is a failure, not a machine that does without"""
    output: str = ""
    """the end of what a failed compiler said"""


def cache_folders() -> Iterator[Path]:
    """Where builds are kept: inside a checkout, else in the user's cache."""
    if (_ROOT / "setup.cfg").exists():
        yield _ROOT / "build" / "native"
    cache = os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):
        yield (Path(cache) if cache else Path.home() / ".cache") / "ina-testbed" / "native"
