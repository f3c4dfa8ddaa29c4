"""The names of protocols, ours and those of installed packages, without their modules."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from workloads.plugins import PROTOCOLS, plugins

__all__ = ["protocol_names"]


@cache
def protocol_names() -> tuple[str, ...]:
    """In the order of the alphabet. Ours are as the folder of protocols has them. That folder is above: its modules
    bind parts of higher floors. Raises ScenarioError for a package whose protocol has the name of a built-in one."""
    ours, more = cast(tuple[str, ...], import_module("testbed.protocols").names()), plugins(PROTOCOLS)
    for name in filter(more.__contains__, ours):
        raise more[name].wrong("has the name of a built-in protocol", found=repr(name))
    return tuple(sorted((*ours, *more)))
