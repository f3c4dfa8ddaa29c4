"""Engines that a command calls, replaced by recorders: what the command hands over is what a test looks at."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

__all__ = ["install_fake"]


def install_fake(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    """Make `import name` give a module with these members, for the time of a test."""
    module = types.ModuleType(name)
    for key, value in members.items():
        setattr(module, key, value)
    monkeypatch.setitem(sys.modules, name, module)
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        monkeypatch.setattr(sys.modules[parent], child, module, raising=False)
