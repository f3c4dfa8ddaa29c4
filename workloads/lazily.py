"""What is imported at its first use: names of a package (PEP 562), and functions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["later", "lazily"]


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of `package`. `modules`: name -> module that defines it, with a dot in front where it
    is a module of the package."""

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(modules[name], package), name)

    return find


def later(place: str) -> Callable[..., Any]:
    """The function at `module:name`, whose module the first call imports."""
    module, _, name = place.partition(":")

    def call(*args: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **options)

    call.__module__, call.__name__, call.__qualname__ = module, name, name
    return call
