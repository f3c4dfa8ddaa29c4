"""Rows of a measurement in a file, a line of JSON each, so that a call goes on where an earlier one stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["keep_row", "kept_rows"]

_R = TypeVar("_R")


def kept_rows(file: Path, kind: Callable[..., _R]) -> list[_R]:
    """`kind`: a dataclass. Empty where there is no file yet."""
    if not file.exists():
        return []
    return [kind(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def keep_row(file: Path, row: Any) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(row)) + "\n")
