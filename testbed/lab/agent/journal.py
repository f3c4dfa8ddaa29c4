"""Small JSON files that are whole after a crash at any moment: written to another file, synced, renamed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["read_json", "write_json"]


def write_json(path: Path, value: Any) -> None:
    """Raises OSError (a full disk, for instance); then the old content is still there."""
    fresh = path.with_name(f".{path.name}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            data = memoryview(json.dumps(value, separators=(",", ":")).encode())
            while data:
                data = data[os.write(handle, data) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def read_json(path: Path, default: Any) -> Any:
    """`default` when there is none. Raises ValueError when it is no JSON, OSError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default
