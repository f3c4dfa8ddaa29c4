"""The names of our collectives, without their modules."""

from __future__ import annotations

from importlib import import_module
from typing import cast

__all__ = ["protocol_names"]


def protocol_names() -> tuple[str, ...]:
    """As the folder of protocols has them. That folder is above: its modules bind parts of higher floors."""
    return cast(tuple[str, ...], import_module("testbed.protocols").names())
