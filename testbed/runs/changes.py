"""`{"faults.loss.rate": "2%"}` as the words of `--set`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

from workloads.errors import ScenarioError

__all__ = ["Changes", "Setting", "as_overrides"]

Setting: TypeAlias = str | int | float | bool | list["Setting"] | dict[str, "Setting"] | None
"""a value of a scenario file; text is read as a file's text is: "2%" is a share, "300Mbps" a rate"""
Changes: TypeAlias = Mapping[str, Setting]
"""by key, as `faults.loss.rate` or `topology.hosts`"""


def as_overrides(changes: Changes | None) -> tuple[str, ...]:
    """`key=value` for each. Raises ScenarioError for what is no value of a scenario file."""
    return tuple(f"{key}={_text(key, value)}" for key, value in (changes or {}).items())


def _text(key: str, value: Setting) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ScenarioError(
            "not a value of a scenario", file="set", key=key, found=repr(value),
            allowed="text as in a file, a number, true or false, a list, a mapping",
        ) from error  # fmt: skip
