"""A card without registers, for tests of everything above them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["FakeCard"]


class FakeCard:
    """A `CardBackend`. What is called in `during_load` happens while it is programmed and may raise."""

    def __init__(self, during_load: Callable[[], None] = lambda: None) -> None:
        self.loaded: str | None = None
        self.runs_instead: str | None = None
        """what it says that it runs, whatever was loaded"""
        self.acts: list[tuple[str, dict[str, Any]]] = []
        self.during_load = during_load

    def bitstream(self) -> str | None:
        return self.runs_instead or self.loaded

    def program(self, data: bytes) -> None:
        self.loaded = None
        self.during_load()
        self.loaded = hashlib.sha256(data).hexdigest()

    def reset(self) -> None:
        self.acts.append(("reset", {}))

    def act(self, verb: str, fields: Mapping[str, Any]) -> Any:
        self.acts.append((verb, dict(fields)))
        return {"verb": verb}

    def close(self) -> None:
        pass
