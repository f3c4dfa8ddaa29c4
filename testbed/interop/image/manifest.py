"""What the work folder holds, and of what it was made."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

__all__ = ["Manifest", "digest"]

_VERSION = 1


def digest(*parts: bytes | str) -> str:
    """Of the parts, with their borders."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


class Manifest:
    """`manifest.json` of a work folder: per piece a key (a digest of all that it was made of) and facts for the report.
    A piece whose key is another, or whose files are gone, is made again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "manifest.json"
        self._pieces: dict[str, dict[str, Any]] = {}
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return  # made anew
        if isinstance(data, dict) and data.get("version") == _VERSION and isinstance(data.get("pieces"), dict):
            self._pieces = data["pieces"]

    def is_made(self, piece: str, key: str, *files: Path) -> bool:
        entry = self._pieces.get(piece)
        return entry is not None and entry.get("key") == key and all(file.exists() for file in files)

    def facts(self, piece: str) -> dict[str, str]:
        """Empty for a piece that is not there."""
        return dict(self._pieces.get(piece, {}).get("facts", {}))

    def note(self, piece: str, key: str, **facts: str) -> None:
        """The piece is complete: write that down, in one step."""
        self._pieces[piece] = {"key": key, "facts": facts}
        text = json.dumps({"version": _VERSION, "pieces": self._pieces}, indent=2, sort_keys=True)
        fresh = self._path.with_suffix(".new")
        fresh.write_text(text + "\n", encoding="utf-8")
        fresh.replace(self._path)
